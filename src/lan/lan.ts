import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { join } from 'node:path';
import type { LanFacts, LanService } from '../core/lan.ts';
import { hostName, isLoopback } from '../http/address.ts';
import type { TlsPair } from '../http/certificate-files.ts';
import { type Interfaces, lanAddresses, reachableAddresses } from './addresses.ts';
import { CertificateStore, fingerprintOf } from './certificate-store.ts';
import { isPermitted } from './certificates.ts';
import { appleProfile } from './profile.ts';

interface LanOptions {
  /** For certificates. */
  readonly folder: string;
  /** `--host`; empty for all addresses. */
  readonly host: string;
  /** Of the system, as it is now. */
  readonly interfaces: () => Interfaces;
  /** Host name of the system. */
  readonly machineName: string;
  /** Whether it has a certificate of its own (`--ssl`). */
  readonly ssl: boolean;
  readonly now: () => number;
  readonly warn: (sentence: string) => void;
}

/** The name that one server in the network has. */
export const commonName = 'parley.local';

/** How this server is reached in the network, and with which certificate. */
export class Lan implements LanService {
  readonly #store: CertificateStore;
  #authority: string | undefined;
  #pair: TlsPair | undefined;
  /** Known once the server listens. */
  port = 0;
  /** Names that lead here, as far as it is known. */
  names: readonly string[] = [];

  constructor(private readonly options: LanOptions) {
    const { folder, warn, now } = options;
    this.#store = new CertificateStore({ path: join(folder, 'certificates.json'), warn, now: () => new Date(now()) });
  }

  /** Undefined with `--ssl`, and before `renew`. */
  get pair(): TlsPair | undefined {
    return this.#pair;
  }

  /** Whether others than this machine can connect. */
  get isPublic(): boolean {
    const { host } = this.options;
    return !isLoopback(hostName(isIP(host) === 6 ? `[${host}]` : host) ?? '');
  }

  /** The names and addresses of the present certificate, and its end; undefined before the first `--lan`. */
  async certificate(): Promise<{ readonly hosts: readonly string[]; readonly expires: Date } | undefined> {
    const stored = await this.#store.read();
    return stored && { hosts: stored.hosts, expires: new Date(new X509Certificate(stored.server.certificate).validTo) };
  }

  /** Makes and renews certificates. True if there is another one for the server. `anew`: with another authority. */
  async renew(anew = false): Promise<boolean> {
    const { machineName, now, ssl } = this.options;
    if (ssl) return false;
    const names = machineNames(machineName);
    const ownNames = ['localhost', commonName, ...localNames(machineName), ...names];
    const hosts = [...ownNames, '127.0.0.1', '::1', ...this.#certified()];
    const needed = { hosts: [...new Set(hosts)], machineNames: names, name: machineName, now: now() };
    const { authority, server } = await this.#store.renew(needed, anew);
    this.#authority = authority.certificate;
    if (server.certificate === this.#pair?.certificate) return false;
    this.#pair = server;
    return true;
  }

  facts(): LanFacts {
    const fingerprint = this.#authority && fingerprintOf(this.#authority);
    const addresses = this.addresses();
    return {
      addresses,
      names: this.names,
      port: this.port,
      isPublic: this.isPublic,
      ...(fingerprint && { fingerprint }),
      unnamed: this.options.ssl ? [] : addresses.filter((address) => isIP(address) !== 0 && !isPermitted(address, [])),
    };
  }

  authority(): string | undefined {
    return this.#authority;
  }

  profile(): string | undefined {
    return this.#authority && appleProfile(this.#authority);
  }

  addresses(): readonly string[] {
    return this.#own(reachableAddresses(lanAddresses(this.options.interfaces())).map(({ address }) => address));
  }

  /** Containers come and go, and nobody opens a page in their networks. */
  #certified(): readonly string[] {
    const all = lanAddresses(this.options.interfaces()).filter(({ kind }) => kind !== 'container');
    return this.#own([...all.map(({ address }) => address), ...this.addresses()]);
  }

  /** With `--host`, there is only that one. */
  #own(addresses: readonly string[]): readonly string[] {
    const { host } = this.options;
    if (host === '' || host === '0.0.0.0') return host === '' ? addresses : addresses.filter((one) => isIP(one) === 4);
    return host === '::' ? addresses : [host.toLowerCase()];
  }
}

/** `desk.example.net` and `desk`. */
function machineNames(machineName: string): readonly string[] {
  const full = machineName.toLowerCase();
  return [...new Set([full, full.split('.')[0] ?? full])].filter((name) => name !== '' && !name.endsWith('.local'));
}

/** The name that the system itself announces, on most systems. */
export function localNames(machineName: string): readonly string[] {
  const [bare = ''] = machineName.toLowerCase().split('.');
  return /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(bare) && bare !== 'localhost' ? [`${bare}.local`] : [];
}

/** The address of a page; IPv6 addresses are in brackets. */
export function lanUrl(scheme: 'http' | 'https', host: string, port: number, path = '/'): string {
  return `${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}${path}`;
}
