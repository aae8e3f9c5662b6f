import { MAP_MODE_WRITE } from '../device/usage.ts';
import type { Staged } from '../launches/recorder.ts';
import type { BufferPart } from '../memory/part.ts';
import { type StagingOptions, UPLOAD_USAGE } from './staging.ts';
import type { StagingSize } from './staging-size.ts';

/** A mapped staging buffer of the upload ring. */
export interface Slab {
  readonly part: BufferPart;
  /** Number of bytes, from the start of the buffer, that recorded copies will read. */
  readonly used: number;
}

/**
 * A ring of staging buffers for uploads. The host writes a mapped buffer, the device copies from it, and then the
 * buffer is mapped again.
 */
export interface UploadRing {
  readonly size: StagingSize;
  /**
   * Returns a buffer that can be written immediately and has room, but perhaps for fewer than `bytes` bytes. Returns
   * undefined if no buffer can be written immediately; the caller must then upload the bytes in another way.
   */
  now(bytes: number): Slab | undefined;
  /** Resolves to an unused buffer as soon as there is one; undefined if no buffer can be created. */
  take(): Promise<Slab | undefined>;
  /**
   * Returns the next `bytes` free bytes of a buffer as mapped memory. Afterwards the caller must call {@link copy} or
   * {@link giveUp}. The ArrayBuffer covers only these bytes: JavaScript engines count mapped bytes as future garbage,
   * so ArrayBuffers of whole buffers would trigger frequent garbage collections. Returns undefined if the range cannot
   * be mapped, because the device is lost or the host lacks memory.
   */
  room(slab: Slab, bytes: number): ArrayBuffer | undefined;
  /**
   * Records the copy of a buffer's next `bytes` bytes to a part (GPU buffer). Returns whether the buffer is now full.
   */
  copy(slab: Slab, part: BufferPart, byte: number, bytes: number): boolean;
  /**
   * Destroys a buffer whose mapped range was not used. The range cannot be mapped again, because ranges of one mapping
   * must not overlap.
   */
  giveUp(slab: Slab): void;
  /** Destroys the buffers that are mapped and unused. */
  trim(): void;
  destroy(): void;
}

interface RingSlab extends Slab, Staged {
  used: number;
  /** Whether a caller has taken the buffer and may write to it at any time. */
  taken: boolean;
}

/** WebGPU requires that mapped ranges start at multiples of this number of bytes. */
const RANGE_ALIGNMENT = 8;

export function createUploadRing({ device, size, mapped, recorder, failure, counters }: StagingOptions): UploadRing {
  const all = new Set<RingSlab>();
  const ready: RingSlab[] = [];
  let waiting: ((slab: RingSlab | undefined) => void)[] = [];
  /** The buffer that has copies in the open submission and room for more. */
  let filling: RingSlab | undefined;
  /**
   * Number of bytes that were uploaded in another way because no buffer was free. When the number reaches the size of a
   * buffer, a new buffer is created: the uploads have then cost as much time as the creation of a buffer.
   */
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
      // The host lacks memory for the buffer. The caller uploads in another way.
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

  /**
   * Maps a buffer again after the copies from it. If the device lacked memory for these copies, mapping would fail, so
   * the buffer is dropped.
   */
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

  /** Makes a mapped buffer available again, after the copies from it have been executed. */
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

  /** Takes an available buffer. Drops buffers for which the device had no memory, and buffers of a lost device. */
  const takeReady = (): RingSlab | undefined => {
    for (let slab = ready.pop(); slab !== undefined; slab = ready.pop()) {
      if (slab.part.spoiled === undefined && slab.part.gpu.mapState === 'mapped') return slab;
      drop(slab);
    }
    return undefined;
  };

  /** Destroys a buffer that cannot be mapped again. A waiting caller may get a new buffer instead. */
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
        // Recorded commands copy from the buffer `filling`. This buffer must therefore not be destroyed now, but it
        // receives no more data.
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
