import { testLaws } from '../backends.ts';
import { kernelLaws } from '../laws/kernels.ts';

testLaws(kernelLaws);
