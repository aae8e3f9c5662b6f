import { testLaws } from '../backends.ts';
import { packBitsLaws } from '../laws/pack-bits.ts';

testLaws(packBitsLaws);
