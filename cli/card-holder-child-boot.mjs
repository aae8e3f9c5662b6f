// Starts the program from its TypeScript source. Only used if the package has not been built.
import { register } from 'tsx/esm/api';

register();
await import('./card-holder-child.ts');
