import { DeviceLostError } from '../../primitives/checks/errors.ts';
import { QuadrilleWarning } from '../../primitives/checks/warnings.ts';
import { CLOSE_LIMIT } from '../common/close-limit.ts';

/** The error of columns whose source cannot be read again for the standby. */
export function sourceLost(cause: unknown): DeviceLostError {
  const sentence = 'The standby could not read a source again, so its data is lost.';
  return new DeviceLostError('upload/source-lost', sentence, {
    remedy: 'Keep the data behind a reader unchanged while its column is in use, or upload arrays.',
    cause,
  });
}

/** The error of a borrowed buffer, which is lost with its device. */
export function bufferLost(cause: DeviceLostError | undefined): DeviceLostError {
  const sentence = 'A borrowed buffer was lost with its device, and so was everything computed from it.';
  return new DeviceLostError('buffer/lost', sentence, {
    remedy: 'Open a new context on a new device, upload the data there and compute it again.',
    cause,
  });
}

/** The warning that closing no longer waits for a standby that has not opened. */
export function standbyLeft(): QuadrilleWarning {
  const sentence = `The standby did not open within ${CLOSE_LIMIT} ms of closing, so closing no longer waits for it.`;
  return new QuadrilleWarning('warning/standby-left', sentence, { remedy: 'It is closed as soon as it has opened.' });
}

/** The error of all calls after a loss if the standby cannot take over. */
export function noStandby(reason: DeviceLostError, cause: unknown): DeviceLostError {
  return new DeviceLostError('device/standby', `No standby could take over after: ${reason.message}`, {
    remedy: 'Open a new context; the data on the device is gone. The cause says why the standby failed.',
    cause,
  });
}
