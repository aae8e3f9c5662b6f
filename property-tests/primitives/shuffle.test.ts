import { testLaws } from '../backends.ts';
import { shuffleLaws } from '../laws/shuffle.ts';

testLaws(shuffleLaws);
