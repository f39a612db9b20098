import { BlockList, isIP } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';

export interface Subnet {
  readonly address: string;
  readonly prefix: number;
}

type InterfaceKind = 'lan' | 'vpn' | 'container';

/** An address of this machine. */
export interface LanAddress {
  readonly address: string;
  readonly interfaceName: string;
  /** Phones in the same network do not reach those of containers and virtual machines, and those of VPNs only within the VPN. */
  readonly kind: InterfaceKind;
}

export type Interfaces = Readonly<
  Record<
    string,
    | readonly (Pick<NetworkInterfaceInfo, 'address' | 'internal'> & Partial<Pick<NetworkInterfaceInfo, 'cidr'>>)[]
    | undefined
  >
>;

/** The addresses of this machine that browsers can open, the one that phones most likely reach first. */
export function lanAddresses(interfaces: Interfaces): readonly LanAddress[] {
  const all = Object.entries(interfaces).flatMap(([interfaceName, addresses = []]) =>
    addresses
      .filter(({ internal, address }) => !internal && isIP(address) !== 0 && !isZoned(address))
      .map(({ address }): LanAddress => ({ address, interfaceName, kind: kindOf(interfaceName) })),
  );
  // The sort is stable: interfaces stay in the order of the system.
  return all.sort((a, b) => rankOf(a) - rankOf(b));
}

/** Those that a phone in the same network reaches; where there are none, all others: the interfaces may have unusual names. */
export function reachableAddresses(addresses: readonly LanAddress[]): readonly LanAddress[] {
  const version4 = addresses.filter(({ address }) => isIP(address) === 4);
  const near = version4.filter(({ address, kind }) => kind === 'lan' && !isIn(address, linkLocal));
  return [near, version4, addresses].find((some) => some.length > 0) ?? [];
}

const linkLocal: Subnet = { address: '169.254.0.0', prefix: 16 };
const linkLocalV6: Subnet = { address: 'fe80::', prefix: 10 };
const homeNetworks: readonly Subnet[] = [
  { address: '192.168.0.0', prefix: 16 },
  { address: '10.0.0.0', prefix: 8 },
  { address: '172.16.0.0', prefix: 12 },
];

/** A link-local IPv6 address is one only together with an interface, which a URL cannot name. */
const isZoned = (address: string): boolean =>
  address.includes('%') || (isIP(address) === 6 && isIn(address, linkLocalV6));

function rankOf({ address, kind }: LanAddress): number {
  const network = homeNetworks.findIndex((subnet) => isIn(address, subnet));
  const unlikely = isIP(address) === 4 && isIn(address, linkLocal) ? 5 : 4;
  const kinds: readonly InterfaceKind[] = ['lan', 'vpn', 'container'];
  return kinds.indexOf(kind) * 100 + (isIP(address) === 4 ? 0 : 10) + (network < 0 ? unlikely : network);
}

/** By the names that systems and programs give to network interfaces. */
const containerInterfaces =
  /^(docker|br-|veth|virbr|vmnet|vboxnet|lxc|lxd|cni|flannel|cali|kube|podman|bridge\d|awdl|llw|vethernet|.*(virtualbox|vmware|hyper-v|wsl))/i;
const vpnInterfaces =
  /^(tun|tap|wg|utun|ppp|ipsec|tailscale|zt|nordlynx|proton|.*(vpn|tailscale|zerotier|wireguard|wintun))/i;

function kindOf(interfaceName: string): InterfaceKind {
  if (containerInterfaces.test(interfaceName)) return 'container';
  return vpnInterfaces.test(interfaceName) ? 'vpn' : 'lan';
}

/** Whether an address is in a network that an interface of this machine is connected to. */
export function isInNetwork(address: string, interfaces: Interfaces): boolean {
  const all = Object.values(interfaces).flatMap((addresses) => addresses ?? []);
  return all.some(({ cidr }) => {
    const [network = '', prefix] = cidr?.split('/') ?? [];
    return isIP(network) !== 0 && isIn(address, { address: network, prefix: Number(prefix) });
  });
}

export function isIn(address: string, { address: network, prefix }: Subnet): boolean {
  const family = isIP(network) === 4 ? 'ipv4' : 'ipv6';
  if (isIP(address) !== isIP(network)) return false;
  const list = new BlockList();
  list.addSubnet(network, prefix, family);
  return list.check(address, family);
}

/** The four or sixteen bytes of an address. */
export function ipBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  const [front = '', back] = withoutIPv4(address).split('::');
  const groups = (text = '') => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)));
  const [before, after] = [groups(front), groups(back)];
  const all = [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
  return Buffer.from(all.flatMap((group) => [group >>> 8, group & 0xff]));
}

/** `::ffff:1.2.3.4` as `::ffff:102:304`. */
function withoutIPv4(address: string): string {
  return address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a: string, b: string, c: string, d: string) =>
    [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)].map((group) => group.toString(16)).join(':'),
  );
}
