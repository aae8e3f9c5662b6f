import { testLaws } from '../backends.ts';
import { reduceByKeyLaws } from '../laws/reduce-by-key.ts';

testLaws(reduceByKeyLaws);
