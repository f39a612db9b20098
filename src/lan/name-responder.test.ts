import { describe, expect, test } from 'vitest';
import { ipBytes } from './addresses.ts';
import { type DnsMessage, decodeMessage, encodeMessage, recordTypes } from './dns-message.ts';
import { NameResponder } from './name-responder.ts';

interface Sent {
  readonly message: DnsMessage;
  readonly to: { readonly address: string; readonly port: number } | undefined;
}

const mdns = { address: '192.168.1.9', port: 5353 };

/** A responder whose timers are called by the test. */
function responder(own: readonly string[] = ['192.168.1.5'], names: readonly string[] = ['parley.local']) {
  let time = 0;
  let timers: { at: number; passed: () => void }[] = [];
  const sent: Sent[] = [];
  let known: readonly string[] = [];
  const one = new NameResponder({
    names,
    addresses: () => own,
    isOwn: (address) => own.some((mine) => ipBytes(mine).equals(ipBytes(address))),
    isNear: (address) => address.startsWith('192.168.'),
    send: (bytes, to) => sent.push({ message: decodeMessage(bytes) as DnsMessage, to }),
    startTimer: (milliseconds, passed) => {
      timers.push({ at: time + milliseconds, passed });
      return { restart: () => undefined, cancel: () => undefined };
    },
    now: () => time,
    changed: (list) => {
      known = list;
    },
  });
  const pass = (milliseconds: number): void => {
    const end = time + milliseconds;
    for (;;) {
      const next = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      timers = timers.filter((timer) => timer !== next);
      time = next.at;
      next.passed();
    }
    time = end;
  };
  const receive = (message: Partial<DnsMessage>, from = mdns): void => {
    const whole = { id: 0, isResponse: false, questions: [], answers: [], authorities: [], ...message };
    one.receive(encodeMessage(whole), from);
  };
  return { one, sent, pass, receive, names: () => known, take: () => sent.splice(0) };
}

const record = (address: string, name = 'parley.local', ttl = 120) => ({
  name,
  ttl,
  data: ipBytes(address),
  flush: true,
  type: address.includes(':') ? recordTypes.AAAA : recordTypes.A,
});
const question = (type: number = recordTypes.A, name = 'parley.local') => ({ name, type });

describe('NameResponder', () => {
  test('asks three times for a name, then announces it twice', () => {
    const world = responder(['192.168.1.5', 'fd00::5']);
    world.one.start();
    world.pass(740);
    expect(world.names()).toEqual([]);
    const probes = world.take();
    expect(probes.map(({ message }) => message.isResponse)).toEqual([false, false, false]);
    expect(probes[0]?.message.questions).toEqual([{ name: 'parley.local', type: recordTypes.ANY, unicast: false }]);
    expect(probes[0]?.message.authorities).toHaveLength(2);
    world.pass(3000);
    expect(world.names()).toEqual(['parley.local']);
    const announced = world.take().map(({ message }) => message);
    expect(announced).toHaveLength(2);
    expect(announced[0]).toMatchObject({ isResponse: true, answers: [record('192.168.1.5'), record('fd00::5')] });
  });

  test('a question that is repeated in a message is answered once, to whomever it goes', () => {
    for (const from of [mdns, { ...mdns, port: 40_000 }]) {
      const world = responder();
      world.one.start();
      world.pass(5000);
      world.take();
      const repeated = Array.from({ length: 100 }, () => ({ ...question(), unicast: true }));
      world.receive({ questions: repeated }, from);
      expect(world.take().map(({ to }) => to)).toEqual([from]);
    }
  });

  test('what comes from beyond the network is ignored: neither answered nor believed', () => {
    const world = responder();
    const elsewhere = { address: '203.0.113.9', port: 40_000 };
    world.one.start();
    world.pass(5000);
    world.take();
    world.receive({ questions: [question()] }, elsewhere);
    world.receive({ isResponse: true, answers: [record('203.0.113.9')] }, elsewhere);
    expect([world.take(), world.names()]).toEqual([[], ['parley.local']]);
  });

  test('leaves a name to the machine that has it', () => {
    const world = responder();
    world.one.start();
    world.receive({ isResponse: true, answers: [record('192.168.1.77')] });
    world.pass(5000);
    world.take();
    world.receive({ questions: [question()] });
    expect([world.names(), world.sent]).toEqual([[], []]);
  });

  test('leaves a name to another program of this machine, and says that it works', () => {
    const world = responder(['192.168.1.5'], ['parley.local', 'desk.local']);
    world.one.start();
    world.receive({ isResponse: true, answers: [record('192.168.1.5', 'desk.local')] });
    world.pass(5000);
    world.take();
    world.receive({ questions: [question(recordTypes.A, 'desk.local')] });
    expect(world.sent).toEqual([]);
    expect(world.names()).toEqual(['parley.local', 'desk.local']);
  });

  test('gives up a name that another machine claims later, and asks for it again in another network', () => {
    const world = responder();
    world.one.start();
    world.pass(5000);
    world.receive({ isResponse: true, answers: [record('192.168.1.77')] });
    expect(world.names()).toEqual([]);
    world.one.start();
    world.pass(5000);
    expect(world.names()).toEqual(['parley.local']);
  });

  test('its own messages and goodbyes of others are no conflict', () => {
    const world = responder();
    world.one.start();
    world.pass(5000);
    for (const { message } of world.take()) world.receive(message);
    world.receive({ isResponse: true, answers: [record('192.168.1.77', 'parley.local', 0)] });
    expect(world.names()).toEqual(['parley.local']);
  });

  test('of two machines that ask at the same time, that with the larger address gets the name', () => {
    const [low, high] = [responder(['192.168.1.5']), responder(['192.168.1.6'])];
    for (const { one } of [low, high]) one.start();
    for (const { message } of low.take()) high.receive(message);
    for (const { message } of high.take()) low.receive(message);
    high.pass(900);
    low.pass(900);
    expect([low.names(), high.names()]).toEqual([[], ['parley.local']]);
    low.pass(200);
    for (const { message } of low.take()) high.receive(message);
    for (const { message } of high.take()) low.receive(message);
    low.pass(5000);
    expect(low.names()).toEqual([]);
  });
});

describe('NameResponder: answers', () => {
  function ready(own: readonly string[] = ['192.168.1.5', 'fd00::5']) {
    const world = responder(own);
    world.one.start();
    world.pass(5000);
    world.take();
    return world;
  }

  test('with the addresses of the type', () => {
    const world = ready();
    world.receive({ questions: [question(recordTypes.AAAA)] });
    expect(world.take().map(({ message }) => message.answers)).toEqual([[record('fd00::5')]]);
    world.receive({ questions: [question(recordTypes.ANY)] });
    expect(world.take().map(({ message }) => message.answers)).toEqual([[record('192.168.1.5'), record('fd00::5')]]);
  });

  test('to the group once a second; to one that asks for it at once', () => {
    const world = ready();
    for (let count = 0; count < 5; count++) world.receive({ questions: [question()] });
    expect(world.take()).toHaveLength(1);
    world.receive({ questions: [{ ...question(), unicast: true }] });
    expect(world.take().map(({ to }) => to)).toEqual([mdns]);
    world.pass(1000);
    world.receive({ questions: [question()] });
    expect(world.take()).toHaveLength(1);
  });

  test('not with what the sender knows', () => {
    const world = ready(['192.168.1.5']);
    world.receive({ questions: [question()], answers: [record('192.168.1.5')] });
    expect(world.sent).toEqual([]);
  });

  test('to programs that know plain DNS alone, with their id and question', () => {
    const world = ready(['192.168.1.5']);
    const from = { address: '192.168.1.9', port: 40_000 };
    world.receive({ id: 99, questions: [question()] }, from);
    const [{ message, to } = { message: undefined, to: undefined }] = world.take();
    expect(to).toEqual(from);
    expect(message).toMatchObject({ id: 99, isResponse: true, answers: [{ ttl: 10, flush: false }] });
    expect(message?.questions[0]?.name).toBe('parley.local');
  });

  test('nothing to questions about other names, and to malformed messages', () => {
    const world = ready();
    world.receive({ questions: [question(recordTypes.A, 'printer.local')] });
    for (const hex of ['', '00', 'ff'.repeat(40), '000000000001000000000000c00c00ff0001'])
      world.one.receive(Buffer.from(hex, 'hex'), mdns);
    expect(world.sent).toEqual([]);
  });
});
