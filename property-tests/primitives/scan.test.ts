import { testLaws } from '../backends.ts';
import { scanLaws } from '../laws/scan.ts';

testLaws(scanLaws);
