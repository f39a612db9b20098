import { isIP } from 'node:net';
import type { StartTimer } from '../core/timers.ts';
import { ipBytes } from './addresses.ts';
import {
  type DnsMessage,
  type DnsRecord,
  decodeMessage,
  encodeMessage,
  type Question,
  recordTypes,
} from './dns-message.ts';

interface Sender {
  readonly address: string;
  readonly port: number;
}

interface ResponderOptions {
  readonly names: readonly string[];
  /** The addresses to which the names lead. */
  readonly addresses: () => readonly string[];
  /** Whether an address is any of this machine. */
  readonly isOwn: (address: string) => boolean;
  /** Whether an address is in a network of this machine. */
  readonly isNear: (address: string) => boolean;
  /** To the group, unless a receiver is named. */
  readonly send: (bytes: Buffer, to?: Sender) => void;
  readonly startTimer: StartTimer;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** Called with the names that lead here, whenever they change. */
  readonly changed: (names: readonly string[]) => void;
}

/**
 * `probing`: asking whether the name is taken. `ours`: we answer. `system`: another program of this machine answers for it.
 * `taken`: it leads to another machine.
 */
type NameState = 'probing' | 'ours' | 'system' | 'taken';

const probes = 3;
const probeMs = 250;
const announcements = 2;
const announceMs = 1000;
/** As RFC 6762 recommends for names of machines. */
const ttlSeconds = 120;
/** Of the same answers to the group. */
const answerPauseMs = 1000;
const dnsPort = 5353;
/** For programs that know no multicast DNS and ask from another port. */
const legacyTtlSeconds = 10;

/** Answers for names of this machine in the local network (multicast DNS, RFC 6762), except for names that are taken already. */
export class NameResponder {
  readonly #states = new Map<string, NameState>();
  readonly #answeredAt = new Map<string, number>();
  /** A later round of probes makes the timers of earlier ones ineffective. */
  readonly #rounds = new Map<string, number>();

  constructor(private readonly options: ResponderOptions) {}

  /** Names that were taken are tried again, too: the network may have changed. */
  start(): void {
    for (const name of this.options.names) this.#probe(name);
  }

  #probe(name: string, delayMs = 0): void {
    const round = (this.#rounds.get(name) ?? 0) + 1;
    this.#rounds.set(name, round);
    this.#set(name, 'probing');
    const step = (count: number): void => {
      if (this.#rounds.get(name) !== round || this.#states.get(name) !== 'probing') return;
      if (count === probes) return void this.#claim(name, round);
      const authorities = this.#records(name, recordTypes.ANY, false);
      this.#send({ questions: [{ name, type: recordTypes.ANY }], authorities });
      this.options.startTimer(probeMs, () => step(count + 1));
    };
    if (delayMs === 0) step(0);
    else this.options.startTimer(delayMs, () => step(0));
  }

  #claim(name: string, round: number): void {
    this.#set(name, 'ours');
    const announce = (count: number): void => {
      if (this.#rounds.get(name) !== round || this.#states.get(name) !== 'ours') return;
      this.#send({ isResponse: true, answers: this.#records(name, recordTypes.ANY, true) });
      if (count > 1) this.options.startTimer(announceMs, () => announce(count - 1));
    };
    announce(announcements);
  }

  /**
   * Anything from the network: what is malformed, comes from elsewhere (RFC 6762, section 11), or concerns no name of ours, is ignored. Who
   * writes the address of somebody else into a message could have the answers sent there.
   */
  receive(bytes: Buffer, from: Sender): void {
    if (!this.options.isNear(from.address)) return;
    const message = decodeMessage(bytes);
    if (!message) return;
    if (message.isResponse) this.#observe(message);
    else {
      this.#contest(message);
      this.#answer(message, from);
    }
  }

  /** An answer of another program or machine. */
  #observe({ answers }: DnsMessage): void {
    for (const [name, state] of this.#states) {
      const addresses = addressesOf(
        name,
        answers.filter(({ ttl }) => ttl > 0),
      );
      if (addresses.length === 0 || state === 'taken') continue;
      const isHere = addresses.every(this.options.isOwn);
      if (!isHere) this.#set(name, 'taken');
      else if (state === 'probing') this.#set(name, 'system');
    }
  }

  /** Two machines ask for a name at the same time: that with the larger addresses gets it, the other one asks again. */
  #contest({ authorities }: DnsMessage): void {
    for (const [name, state] of this.#states) {
      const theirs = addressesOf(name, authorities);
      if (state !== 'probing' || theirs.length === 0 || theirs.every(this.options.isOwn)) continue;
      const order = (list: readonly string[]) =>
        list
          .map((one) => ipBytes(one).toString('hex'))
          .sort()
          .join();
      if (order(this.options.addresses()) < order(theirs)) this.#probe(name, announceMs);
    }
  }

  #answer({ id, questions, answers: known }: DnsMessage, from: Sender): void {
    const legacy = from.port !== dnsPort;
    const ours = questions.filter(({ name }) => this.#states.get(name) === 'ours');
    // One message can ask the same many times.
    for (const question of new Map(ours.map((one) => [`${one.name} ${one.type}`, one])).values()) {
      const { name, type, unicast } = question;
      const records = this.#records(name, type, !legacy, legacy ? legacyTtlSeconds : ttlSeconds);
      const isKnown = (one: DnsRecord) =>
        known.some(
          (other) =>
            other.name === name &&
            other.type === one.type &&
            other.data.equals(one.data) &&
            other.ttl >= ttlSeconds / 2,
        );
      const answers = legacy ? records : records.filter((one) => !isKnown(one));
      if (answers.length === 0) continue;
      if (legacy) this.#send({ id, isResponse: true, questions: [question], answers }, from);
      else if (unicast) this.#send({ isResponse: true, answers }, from);
      else if (this.#mayAnswer(`${name} ${type}`)) this.#send({ isResponse: true, answers });
    }
  }

  #mayAnswer(key: string): boolean {
    const now = this.options.now();
    if (now - (this.#answeredAt.get(key) ?? Number.NEGATIVE_INFINITY) < answerPauseMs) return false;
    // Types are numbers of the sender's choice.
    if (this.#answeredAt.size > 100) this.#answeredAt.clear();
    this.#answeredAt.set(key, now);
    return true;
  }

  #records(name: string, question: number, flush: boolean, ttl = ttlSeconds): readonly DnsRecord[] {
    return this.options
      .addresses()
      .map((address) => ({
        name,
        type: isIP(address) === 4 ? recordTypes.A : recordTypes.AAAA,
        ttl,
        data: ipBytes(address),
        flush,
      }))
      .filter(({ type }) => question === recordTypes.ANY || question === type);
  }

  #send(message: Partial<DnsMessage>, to?: Sender): void {
    const whole = {
      id: 0,
      isResponse: false,
      questions: [] as readonly Question[],
      answers: [],
      authorities: [],
      ...message,
    };
    this.options.send(encodeMessage(whole), to);
  }

  #set(name: string, state: NameState): void {
    if (this.#states.get(name) === state) return;
    this.#states.set(name, state);
    const names = this.options.names.filter((one) => ['ours', 'system'].includes(this.#states.get(one) ?? ''));
    this.options.changed(names);
  }
}

function addressesOf(name: string, records: readonly DnsRecord[]): readonly string[] {
  return records
    .filter((record) => record.name === name)
    .flatMap(({ type, data }) => {
      if (type === recordTypes.A && data.length === 4) return [[...data].join('.')];
      if (type !== recordTypes.AAAA || data.length !== 16) return [];
      const groups = Array.from({ length: 8 }, (_, index) => data.readUInt16BE(index * 2).toString(16));
      return [groups.join(':')];
    });
}
