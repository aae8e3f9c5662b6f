import { testLaws } from '../backends.ts';
import { transposeLaws } from '../laws/transpose.ts';

testLaws(transposeLaws);
