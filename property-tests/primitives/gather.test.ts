import { testLaws } from '../backends.ts';
import { gatherLaws } from '../laws/gather.ts';

testLaws(gatherLaws);
