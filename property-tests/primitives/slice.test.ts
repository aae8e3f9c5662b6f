import { testLaws } from '../backends.ts';
import { sliceLaws } from '../laws/slice.ts';

testLaws(sliceLaws);
