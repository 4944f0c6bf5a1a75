/** A client connection as one member reports it, by AdminServer or four-letter word. */
import type { Text } from '../../domain/text.ts';

export interface MemberConnection {
  readonly sessionId: bigint;
  readonly address: Text;
  readonly timeoutMs: number | undefined;
  readonly packetsReceived: number | undefined;
  readonly lastOperation: Text | undefined;
  /** When the member answered it last, in ms by that member's own monotonic clock. */
  readonly lastResponseMs: number | undefined;
  readonly member: string;
  readonly source: 'AdminServer' | 'cons';
}
