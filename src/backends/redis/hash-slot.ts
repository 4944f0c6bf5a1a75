/** Hash slots of Redis Cluster: keys of one slot are always on one node, and can change in one step. */
import calculateSlot from 'cluster-key-slot';
import { textToBytes, type Text } from '../../domain/text.ts';

/** 0 to 16383: CRC16 of the part between the first braces, or of the whole key. */
export function slotOf(key: Text): number {
  return calculateSlot(Buffer.from(textToBytes(key)));
}
