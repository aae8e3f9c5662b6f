import type { Counters } from '../../../primitives/contract/backend.ts';
import type { Failure } from '../device/failure.ts';
import { MAP_MODE_WRITE } from '../device/usage.ts';
import type { DispatchRecorder, Staged } from '../launches/recorder.ts';
import type { BufferPart } from '../memory/part.ts';
import { type Mapper, UPLOAD_USAGE } from './staging.ts';
import type { StagingSize } from './staging-size.ts';

/** A staging buffer that is mapped. */
export interface Slab {
  readonly part: BufferPart;
  /** Bytes from its start that are to be copied already. */
  readonly used: number;
}

/** Staging buffers that are written by the host, copied from by the device, and mapped again. */
export interface UploadRing {
  readonly size: StagingSize;
  /** A buffer with room that can be written to now, where there is one. For `bytes` that would go another way otherwise. */
  now(bytes: number): Slab | undefined;
  /** A whole buffer, as soon as there is one; for {@link room}. Undefined where none can be made. */
  take(): Promise<Slab | undefined>;
  /**
   * The first bytes of the room that a buffer has, for {@link copy} or {@link giveUp} next. No more than they are mapped: a
   * garbage collection would follow every few times that whole buffers were, as engines count what is mapped as garbage to be.
   * Undefined where they cannot be had: the buffer went with its device, or the host has no memory for them.
   */
  room(slab: Slab, bytes: number): ArrayBuffer | undefined;
  /** Copies the first bytes of the room that a buffer has to a part; says whether it was filled with that. */
  copy(slab: Slab, part: BufferPart, byte: number, bytes: number): boolean;
  /** Destroys a buffer whose room nothing was copied from: ranges of one mapping must not overlap. */
  giveUp(slab: Slab): void;
  /** Destroys the buffers that nobody writes to at the moment. */
  trim(): void;
  destroy(): void;
}

export interface UploadRingOptions {
  readonly device: GPUDevice;
  readonly size: StagingSize;
  readonly mapped: Mapper;
  readonly recorder: DispatchRecorder;
  readonly failure: Failure;
  readonly counters: Counters;
}

interface RingSlab extends Slab, Staged {
  used: number;
  /** Whether somebody took it, and may write to it at any time. */
  taken: boolean;
}

/** Ranges of a mapping begin at multiples of it. */
const RANGE_ALIGNMENT = 8;

export function createUploadRing({ device, size, mapped, recorder, failure, counters }: UploadRingOptions): UploadRing {
  const all = new Set<RingSlab>();
  const ready: RingSlab[] = [];
  let waiting: ((slab: RingSlab | undefined) => void)[] = [];
  /** Has copies in the submission that is open, and room for more. */
  let filling: RingSlab | undefined;
  /** Bytes that went another way for want of a buffer, which pay for the next one: making it takes as long as they did. */
  let owed = 0;
  let isClosed = false;

  const make = (): RingSlab | undefined => {
    if (all.size === size.buffers) return undefined;
    const { bytes } = size;
    let gpu: GPUBuffer | undefined;
    try {
      gpu = recorder.watched(() => device.createBuffer({ size: bytes, usage: UPLOAD_USAGE, mappedAtCreation: true }));
      if (gpu.mapState !== 'mapped') throw new Error('The buffer is not mapped.');
      const slab = slabOf({ id: 0, gpu, bytes, lastUse: -1 });
      recorder.made(slab.part);
      counters.allocations++;
      all.add(slab);
      return slab;
    } catch {
      // The host has no memory for it; there are other ways.
      gpu?.destroy();
      return undefined;
    }
  };

  const slabOf = (part: BufferPart): RingSlab => {
    let accepted: Promise<void> | undefined = recorder.begin().accepted;
    const slab: RingSlab = {
      part,
      used: 0,
      taken: false,
      handOver() {
        part.gpu.unmap();
        if (filling === slab) filling = undefined;
      },
      ended(handedOver) {
        if (handedOver) void map(slab, accepted);
        else lose(slab);
        accepted = undefined;
      },
    };
    return slab;
  };

  /** Maps a buffer that was copied from. What the device had no memory for cannot be mapped either. */
  const map = async (slab: RingSlab, accepted: Promise<void> | undefined): Promise<void> => {
    const { gpu } = slab.part;
    try {
      await accepted;
      await mapped(gpu, MAP_MODE_WRITE, size.bytes);
    } catch {
      lose(slab);
      return;
    }
    restore(slab);
  };

  /** A buffer that is mapped, and that nothing is to be copied from, can be written to. */
  const restore = (slab: RingSlab): void => {
    slab.used = 0;
    slab.taken = false;
    if (isClosed) drop(slab);
    else ready.push(slab);
    serve();
  };

  const serve = (): void => {
    while (waiting.length > 0 && !failure.failed) {
      const slab = takeNow();
      if (slab === undefined && all.size > 0) return;
      waiting.shift()!(slab);
    }
  };

  const takeNow = (): RingSlab | undefined => {
    const slab = takeReady() ?? make();
    if (slab !== undefined) slab.taken = true;
    return slab;
  };

  /** A buffer that can be written to; those are not that the device had no memory for, or that went with their device. */
  const takeReady = (): RingSlab | undefined => {
    for (let slab = ready.pop(); slab !== undefined; slab = ready.pop()) {
      if (slab.part.spoiled === undefined && slab.part.gpu.mapState === 'mapped') return slab;
      drop(slab);
    }
    return undefined;
  };

  /** Destroys a buffer that cannot be mapped again; another one may be made for those who wait. */
  const lose = (slab: RingSlab): void => {
    if (filling === slab) filling = undefined;
    drop(slab);
    serve();
  };

  const drop = (slab: RingSlab): void => {
    all.delete(slab);
    slab.part.gpu.destroy();
  };

  return {
    size,
    now(bytes) {
      const slab = filling ?? takeReady();
      if (slab !== undefined) return slab;
      owed = Math.min(owed + Math.min(bytes, size.bytes), size.bytes * size.buffers);
      if (owed < size.bytes) return undefined;
      const made = make();
      if (made !== undefined) owed -= size.bytes;
      return made;
    },
    async take() {
      const slab = takeNow();
      if (slab !== undefined || all.size === 0) return slab;
      return new Promise((resolve) => waiting.push(resolve));
    },
    room(given, bytes) {
      const slab = given as RingSlab;
      try {
        return slab.part.gpu.getMappedRange(slab.used, bytes);
      } catch {
        // What was recorded copies from a buffer that is being filled.
        if (slab === filling) filling = undefined;
        else lose(slab);
        return undefined;
      }
    },
    copy(given, part, byte, bytes) {
      const slab = given as RingSlab;
      recorder.stage(slab);
      recorder.copy(slab.part, slab.used, part, byte, bytes);
      slab.used = Math.ceil((slab.used + bytes) / RANGE_ALIGNMENT) * RANGE_ALIGNMENT;
      slab.taken = false;
      const isFull = slab.used >= size.bytes;
      filling = isFull ? undefined : slab;
      return isFull;
    },
    giveUp: (slab) => lose(slab as RingSlab),
    trim() {
      for (const slab of ready.splice(0)) drop(slab);
    },
    destroy() {
      isClosed = true;
      waiting = [];
      ready.length = 0;
      for (const slab of [...all]) if (!slab.taken) drop(slab);
    },
  };
}
