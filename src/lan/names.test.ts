import type { Socket } from 'node:dgram';
import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { openNames } from './names.ts';

const interfaces = () => ({
  eth0: [{ address: '192.168.1.5', internal: false, cidr: '192.168.1.5/24' }],
  wlan0: [{ address: '192.168.2.5', internal: false, cidr: '192.168.2.5/24' }],
});

/** Sockets that reach no network. */
function fakeSockets(fault: (call: string, socket: number) => Error | undefined) {
  const opened: FakeSocket[] = [];
  class FakeSocket extends EventEmitter {
    readonly index = opened.length;
    readonly calls: string[] = [];
    #call(name: string): void {
      this.calls.push(name);
      const error = fault(name, this.index);
      if (error) throw error;
    }
    bind(port: number, bound: () => void) {
      this.calls.push(`bind ${port}`);
      const error = fault('bind', this.index);
      if (error) this.emit('error', error);
      else bound();
    }
    addMembership(group: string, card: string) {
      this.#call(`join ${group} ${card}`);
    }
    setMulticastInterface(card: string) {
      this.#call(`by ${card}`);
    }
    setMulticastTTL() {}
    unref() {}
    send(_: Buffer, port: number, address: string) {
      this.calls.push(`send ${address}:${port}`);
    }
    close() {
      this.calls.push('close');
    }
  }
  const socket = (() => {
    const one = new FakeSocket();
    opened.push(one);
    return one as unknown as Socket;
  }) as unknown as typeof import('node:dgram').createSocket;
  return { opened, socket };
}

function open(fault: (call: string, socket: number) => Error | undefined = () => undefined) {
  const fake = fakeSockets(fault);
  const warned: string[] = [];
  const names = openNames({
    interfaces,
    machineName: 'Desk',
    socket: fake.socket,
    changed: () => undefined,
    warn: (sentence) => warned.push(sentence),
  });
  return { ...fake, warned, names };
}

test('openNames: asks on each card', () => {
  const { opened, warned } = open();
  expect(opened.map(({ calls }) => calls)).toEqual(
    ['192.168.1.5', '192.168.2.5'].map((card) => [
      'bind 5353',
      `join 224.0.0.251 ${card}`,
      `by ${card}`,
      'send 224.0.0.251:5353',
      'send 224.0.0.251:5353',
    ]),
  );
  expect(warned).toEqual([]);
});

test('openNames: a card without multicast does not keep the others from it', () => {
  const { opened, warned } = open((call, index) =>
    call.startsWith('join') && index === 0 ? new Error('ENODEV') : undefined,
  );
  expect(opened[0]?.calls).toContain('close');
  expect(opened[1]?.calls).toContain('send 224.0.0.251:5353');
  expect(warned).toEqual([]);
});

test('openNames: where there is no multicast at all, one sentence says so', () => {
  const { warned, names } = open((call) => (call === 'bind' ? new Error('bind EACCES') : undefined));
  names.refresh();
  expect(warned).toEqual(['Names such as parley.local are not announced: bind EACCES. The addresses work.']);
});

test('openNames: another network opens other sockets', () => {
  const { opened, names } = open();
  names.refresh();
  expect(opened.map(({ calls }) => calls.includes('close'))).toEqual([true, true, false, false]);
});
