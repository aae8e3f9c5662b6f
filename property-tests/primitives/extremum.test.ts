import { testLaws } from '../backends.ts';
import { extremumLaws } from '../laws/extremum.ts';

testLaws(extremumLaws);
