import { testLaws } from '../backends.ts';
import { reduceLaws } from '../laws/reduce.ts';

testLaws(reduceLaws);
