import { DEVICES_SPECS } from './arguments.ts';
import { describe } from './command-line.ts';
import { COLUMNS_MEAN } from './devices.ts';

/** The help text of `quadrille devices --help`. */
export const DEVICES_HELP: string = `quadrille devices [--verbose | --json]

Lists the backends and adapters of this machine with their limits, and says whether their f32 results equal those of all
other backends, byte for byte. Where nvidia-smi lists GPUs, they are listed with their numbers, which quadrille worker --gpu N
takes.

${describe(DEVICES_SPECS)}

${COLUMNS_MEAN}
`;
