import { X509Certificate } from 'node:crypto';
import { hasMembers } from '../core/json.ts';
import { AtomicFile, type AtomicFileOptions, versionedJson } from '../store/atomic-file.ts';
import {
  type CertificatePair,
  createAuthority,
  createServerCertificate,
  isIssuedBy,
  isPermitted,
} from './certificates.ts';

interface StoredCertificates {
  readonly authority: CertificatePair;
  /** Names of this machine that the authority may vouch for. */
  readonly machineNames: readonly string[];
  readonly server: CertificatePair;
  readonly hosts: readonly string[];
}

/** Its certificates as they are now, and what is needed of them. */
interface Needed {
  readonly hosts: readonly string[];
  readonly machineNames: readonly string[];
  readonly name: string;
  readonly now: number;
}

const day = 86_400_000;
const authorityLeft = 365 * day;
const serverLeft = 30 * day;
/** Earlier addresses stay in the certificate, so that a machine that alternates between two networks needs no new one each time. */
const maxHosts = 32;

/** Certificates that serve these hosts for a while: the same ones, if they do. */
export function renewed(present: StoredCertificates | undefined, needed: Needed): StoredCertificates {
  const { now, name } = needed;
  const lasts = (pair: CertificatePair, left: number) =>
    Date.parse(new X509Certificate(pair.certificate).validTo) - now > left;
  const keeps = present !== undefined && lasts(present.authority, authorityLeft);
  const machineNames = keeps ? present.machineNames : needed.machineNames;
  const authority = keeps ? present.authority : createAuthority(machineNames, { name, now });
  const hosts = needed.hosts.filter((host) => isPermitted(host, machineNames));
  const isUsable =
    keeps &&
    hosts.every((host) => present.hosts.includes(host)) &&
    Date.parse(new X509Certificate(present.server.certificate).validFrom) <= now &&
    lasts(present.server, serverLeft) &&
    isIssuedBy(present.server, authority);
  if (isUsable) return present;
  const all = [...new Set([...hosts, ...(keeps ? present.hosts : [])])].slice(0, maxHosts);
  return {
    authority,
    machineNames,
    server: createServerCertificate(authority, all, { name: 'Parley', now }),
    hosts: all,
  };
}

/** The authority of this account and the certificate of its servers, in one file that only the account can read. */
export class CertificateStore extends AtomicFile<StoredCertificates | undefined> {
  constructor(options: Pick<AtomicFileOptions<unknown>, 'path' | 'warn' | 'now'>) {
    // There is none before the first `--lan`.
    super({ ...options, empty: undefined, maxBytes: 2 ** 20, folderMode: 0o700, ...form });
  }

  /** Makes or renews what is missing or ends soon. `anew`: replaces everything, including the authority. */
  async renew(needed: Needed, anew = false): Promise<StoredCertificates> {
    return (await this.change((present) => renewed(anew ? undefined : present, needed))) as StoredCertificates;
  }
}

/** For people to compare: SHA-256 of the certificate, as browsers show it. */
export const fingerprintOf = (certificate: string): string => new X509Certificate(certificate).fingerprint256;

const form = versionedJson<StoredCertificates | undefined>(
  (content) => {
    if (!isStored(content)) throw new Error('it has no certificates');
    for (const { certificate } of [content.authority, content.server]) new X509Certificate(certificate);
    // Throws for a damaged key.
    isIssuedBy(content.server, content.authority);
    if (!isIssuedBy(content.authority, content.authority))
      throw new Error('its authority and key do not belong together');
    const { authority, machineNames, server, hosts } = content;
    return { authority, machineNames, server, hosts };
  },
  (content) => content,
  2,
);

function isStored(content: unknown): content is StoredCertificates {
  if (!hasMembers(content, { machineNames: 'list', hosts: 'list' })) return false;
  const isPair = (pair: unknown) => hasMembers(pair, { certificate: 'string', key: 'string' });
  const texts = [content.machineNames, content.hosts].flat();
  return isPair(content.authority) && isPair(content.server) && texts.every((text) => typeof text === 'string');
}
