import { createSocket, type Socket } from 'node:dgram';
import { isIP } from 'node:net';
import { systemTimer } from '../core/timers.ts';
import { type Interfaces, ipBytes, isInNetwork, lanAddresses, reachableAddresses } from './addresses.ts';
import { commonName, localNames } from './lan.ts';
import { NameResponder } from './name-responder.ts';

interface NamesOptions {
  readonly machineName: string;
  readonly interfaces: () => Interfaces;
  /** Called with the names that lead here. */
  readonly changed: (names: readonly string[]) => void;
  readonly warn: (sentence: string) => void;
  readonly socket?: typeof createSocket;
}

const group = '224.0.0.251';
const port = 5353;

/** Announces `parley.local` and `NAME.local`. Where multicast is not possible, it warns and announces nothing. */
export function openNames({ machineName, interfaces, changed, warn, socket = createSocket }: NamesOptions): {
  refresh(): void;
} {
  const addresses = (): readonly string[] =>
    reachableAddresses(lanAddresses(interfaces())).map(({ address }) => address);
  let sockets: readonly Socket[] = [];
  let isBroken = false;

  const close = (): void => {
    for (const one of sockets) one.removeAllListeners('message').close();
    sockets = [];
  };
  /** The names end with the last network interface. */
  const drop = (broken: Socket | undefined, { message }: Error): void => {
    if (broken && !sockets.includes(broken)) return;
    sockets = sockets.filter((one) => one !== broken);
    broken?.close();
    if (sockets.length > 0) return;
    changed([]);
    if (!isBroken) warn(`Names such as ${commonName} are not announced: ${message}. The addresses work.`);
    isBroken = true;
  };
  const responder = new NameResponder({
    addresses,
    changed,
    startTimer: systemTimer,
    now: () => performance.now(),
    names: [commonName, ...localNames(machineName)].filter((name, index, all) => all.indexOf(name) === index),
    isOwn: (address) => isOwnAddress(address, interfaces()),
    isNear: (address) => isInNetwork(address, interfaces()),
    send: (bytes, to) => {
      const { address, port: toPort } = to ?? { address: group, port };
      // An interface that was just removed cannot send; the others do.
      for (const one of to ? sockets.slice(0, 1) : sockets) one.send(bytes, toPort, address, () => undefined);
    },
  });

  /** One socket for each network interface: a message to the group leaves by one only. */
  const open = (): void => {
    close();
    const own = addresses().filter((address) => isIP(address) === 4);
    const opened = own.map((address) => ({ address, one: socket({ type: 'udp4', reuseAddr: true }) }));
    sockets = opened.map(({ one }) => one);
    let left = opened.length;
    const ready = (): void => {
      left -= 1;
      if (left === 0 && sockets.length > 0) responder.start();
    };
    for (const { address, one } of opened) {
      one.on('message', (bytes, from) => responder.receive(bytes, from));
      one.on('error', (error) => {
        drop(one, error);
        ready();
      });
      one.bind(port, () => {
        if (!sockets.includes(one)) return;
        try {
          one.unref();
          one.addMembership(group, address);
          one.setMulticastInterface(address);
          one.setMulticastTTL(255);
        } catch (error) {
          drop(one, error as Error);
        }
        ready();
      });
    }
  };
  const tryOpen = (): void => {
    try {
      open();
    } catch (error) {
      drop(undefined, error as Error);
    }
  };
  tryOpen();
  return { refresh: tryOpen };
}

function isOwnAddress(address: string, interfaces: Interfaces): boolean {
  const bytes = ipBytes(address);
  return Object.values(interfaces)
    .flatMap((own) => own ?? [])
    .some(({ address: own }) => isIP(own) !== 0 && ipBytes(own.split('%')[0] ?? own).equals(bytes));
}
