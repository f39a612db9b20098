import { BlockList, isIP } from 'node:net';

/**
 * The host of a Host header or an origin, lower-case and without port; undefined if it is not a plain name or address. Other forms of an IPv4
 * address (127.1, 2130706433, 0x7f000001) become the usual one, as browsers read them: they are never looked up as names.
 */
export function hostName(authority: string): string | undefined {
  const bracketed = /^\[([0-9a-f:.]+)\](?::\d{1,5})?$/i.exec(authority);
  if (bracketed?.[1]) return isIP(bracketed[1]) === 6 ? bracketed[1].toLowerCase() : undefined;
  const name = /^([a-z0-9_.-]+?)\.?(?::\d{1,5})?$/i.exec(authority)?.[1]?.toLowerCase();
  if (name === undefined || !/(^|\.)(\d+|0x[0-9a-f]*)$/.test(name)) return name;
  return URL.canParse(`http://${name}`) ? new URL(`http://${name}`).hostname : undefined;
}

/** `localhost` and all names below it are reserved for loopback. */
export function isLoopback(name: string): boolean {
  if (name === 'localhost' || name.endsWith('.localhost')) return true;
  if (isIP(name) === 4) return name.startsWith('127.');
  return name === '::1' || name.startsWith('::ffff:127.') || name.startsWith('::ffff:7f');
}

/** Dual-stack sockets report IPv4 clients as mapped IPv6 addresses. */
export function plainAddress(address: string | undefined): string {
  return address?.replace(/^::ffff:(?=\d+\.)/i, '') ?? '';
}

/** IPv4 networks that are not public: loopback, private, link-local (cloud metadata), multicast and others. */
const reservedV4 = `
  0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
  192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4`;

/** The public IPv6 network, and the exceptions in it, such as tunnels that contain an IPv4 address. */
const globalV6 = '2000::/3';
const reservedV6 = '2001::/23 2001:db8::/32 2002::/16 3fff::/20';

function addSubnets(list: BlockList, networks: string, family: 'ipv4' | 'ipv6'): void {
  for (const network of networks.trim().split(/\s+/)) {
    const [address = '', prefix] = network.split('/');
    list.addSubnet(address, Number(prefix), family);
  }
}

const reserved = new BlockList();
addSubnets(reserved, reservedV4, 'ipv4');
addSubnets(reserved, reservedV6, 'ipv6');
const global = new BlockList();
addSubnets(global, globalV6, 'ipv6');

/** Whether an address is on the public internet. False for mapped IPv4, addresses with a zone, and other texts. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !reserved.check(address, 'ipv4');
  if (family !== 6 || address.includes('%')) return false;
  return global.check(address, 'ipv6') && !reserved.check(address, 'ipv6');
}
