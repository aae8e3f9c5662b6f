import { DEVICES_SPECS } from './arguments.ts';
import { describe } from './command-line.ts';
import { COLUMNS_MEAN } from './devices.ts';

/** The page of `quadrille devices --help`. */
export const DEVICES_HELP: string = `quadrille devices [--verbose | --json]

Lists what can run here: backends, adapters, limits, and whether f32 results are the same bytes as everywhere else.

${describe(DEVICES_SPECS)}

${COLUMNS_MEAN}
`;
