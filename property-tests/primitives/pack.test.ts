import { testLaws } from '../backends.ts';
import { packLaws } from '../laws/pack.ts';

testLaws(packLaws);
