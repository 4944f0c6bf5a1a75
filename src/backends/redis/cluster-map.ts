/**
 * Who serves which hash slots, as the nodes themselves tell it. The nodes may disagree for a while
 * after a failover; the one with the highest epoch has the latest news.
 * Protocol: CLUSTER SLOTS answers {first, last, {host, port, id, …}, {replica}, …} for each range.
 */
import type { Ability } from '../../domain/probe.ts';
import { displayEndpoint, reachableAt, type Endpoint, type Target } from '../../domain/target.ts';
import { stringToText } from '../../domain/text.ts';
import { badReply } from './errors.ts';
import { asArray, asBuffer, asNumber, parsePairs } from './replies.ts';

export interface ClusterNode {
  readonly id: string;
  /** Reached from here. */
  readonly endpoint: Endpoint;
  readonly primary: boolean;
}

interface SlotRange {
  readonly first: number;
  readonly last: number;
  readonly owner: ClusterNode;
}

const slots = 16_384;

/** What one node says of the whole cluster. */
export class ClusterMap {
  /** Of the node that told it: grows with every failover and move of slots. */
  readonly epoch: number;
  readonly health: Ability;
  /** Primaries that serve slots, then replicas; each once. */
  readonly nodes: readonly ClusterNode[];
  readonly #ranges: readonly SlotRange[];

  private constructor(
    info: ReadonlyMap<string, string>,
    nodes: readonly ClusterNode[],
    ranges: readonly SlotRange[],
  ) {
    this.epoch = Number(info.get('cluster_current_epoch') ?? 0);
    this.nodes = nodes;
    this.#ranges = ranges;
    this.health = healthOf(info, ranges);
  }

  /** @param told the endpoint that answered: an empty host in the reply means that one */
  static parse(
    target: Target,
    told: Endpoint,
    slotsReply: unknown,
    infoReply: unknown,
  ): ClusterMap {
    const nodes = new Map<string, ClusterNode>();
    const ranges = asArray(slotsReply, 'CLUSTER SLOTS').map((range): SlotRange => {
      const [first, last, ...members] = asArray(range, 'CLUSTER SLOTS');
      const [owner] = members.map((member, index) => {
        const node = parseNode(target, told, member, index === 0);
        if (!nodes.has(node.id)) nodes.set(node.id, node);
        return node;
      });
      if (owner === undefined) throw badReply('CLUSTER SLOTS');
      return {
        first: asNumber(first, 'CLUSTER SLOTS'),
        last: asNumber(last, 'CLUSTER SLOTS'),
        owner,
      };
    });
    const info = parsePairs(asBuffer(infoReply, 'CLUSTER INFO').toString(), /\r?\n/, ':');
    const all = [...nodes.values()];
    return new ClusterMap(
      info,
      [...all.filter(({ primary }) => primary), ...all.filter(({ primary }) => !primary)],
      ranges,
    );
  }

  get primaries(): readonly ClusterNode[] {
    return this.nodes.filter(({ primary }) => primary);
  }

  /** Undefined: no node serves that slot now. */
  ownerOf(slot: number): ClusterNode | undefined {
    return this.#ranges.find(({ first, last }) => slot >= first && slot <= last)?.owner;
  }
}

function parseNode(target: Target, told: Endpoint, member: unknown, primary: boolean): ClusterNode {
  const [host, port, id] = asArray(member, 'CLUSTER SLOTS');
  const named = host === null ? '' : asBuffer(host, 'CLUSTER SLOTS').toString();
  const announced = {
    // Empty or `?`: the node does not know its own address; it is the one that was asked.
    host: named === '' || named === '?' ? told.host : named,
    port: asNumber(port, 'CLUSTER SLOTS'),
  };
  return {
    id: asBuffer(id, 'CLUSTER SLOTS').toString(),
    endpoint: reachableAt(target, announced),
    primary,
  };
}

function healthOf(info: ReadonlyMap<string, string>, ranges: readonly SlotRange[]): Ability {
  const covered = ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  if (covered < slots) {
    return { can: false, reason: `${slots - covered} of ${slots} slots are served by no node` };
  }
  const state = info.get('cluster_state');
  if (state !== 'ok') {
    return { can: false, reason: `cluster_state is ${stringToText(state ?? 'not told')}` };
  }
  const failing = Number(info.get('cluster_slots_fail') ?? 0);
  const doubtful = Number(info.get('cluster_slots_pfail') ?? 0);
  return failing + doubtful > 0
    ? { can: false, reason: `the nodes of ${failing + doubtful} slots do not answer` }
    : { can: true };
}

/** `127.0.0.1:7000 serves slot 5, 127.0.0.1:7001 says 127.0.0.1:7002 does`. */
export function disagreements(
  chosen: ClusterMap,
  others: readonly { readonly told: Endpoint; readonly map: ClusterMap }[],
): readonly string[] {
  return others.flatMap(({ told, map }) => {
    for (let slot = 0; slot < slots; slot += 1) {
      const [here, there] = [chosen.ownerOf(slot), map.ownerOf(slot)];
      if (here?.id === there?.id) continue;
      return [
        `${displayEndpoint(told)} sees slot ${slot} at ${nameOf(there)}, the latest news is ${nameOf(here)}`,
      ];
    }
    return [];
  });
}

function nameOf(node: ClusterNode | undefined): string {
  return node === undefined ? 'nobody' : stringToText(displayEndpoint(node.endpoint));
}
