import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  type KeyPairKeyObjectResult,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { isIP } from 'node:net';
import { ipBytes, isIn, type Subnet } from './addresses.ts';
import { bits, boolean, integer, octets, oid, sequence, set, tagged, time, utf8 } from './der.ts';

/** A certificate and its private key, as PEM texts. */
export interface CertificatePair {
  readonly certificate: string;
  readonly key: string;
}

interface Subject {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly random?: (bytes: number) => Buffer;
}

const day = 86_400_000;
/** Clocks of phones and computers differ. */
const backdated = day;
const authorityDays = 3650;
/** iOS accepts 398 days and less. The server renews its certificate long before. */
const serverDays = 90;

/** Top-level names that belong to no one on the internet. */
const localDomains = ['local', 'localhost', 'internal', 'home.arpa', 'lan'];

/** Addresses that are not on the internet: loopback, private, link-local, and those of carriers and VPNs. */
const localSubnets: readonly Subnet[] = [
  { address: '127.0.0.0', prefix: 8 },
  { address: '10.0.0.0', prefix: 8 },
  { address: '172.16.0.0', prefix: 12 },
  { address: '192.168.0.0', prefix: 16 },
  { address: '169.254.0.0', prefix: 16 },
  { address: '100.64.0.0', prefix: 10 },
  { address: '::1', prefix: 128 },
  { address: 'fc00::', prefix: 7 },
  { address: 'fe80::', prefix: 10 },
];

const ids = {
  ecdsaSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectKey: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectNames: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  nameConstraints: '2.5.29.30',
  authorityKey: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
};

/**
 * An authority that can vouch for this machine alone and for names and addresses that are not on the internet: a stolen key of it
 * cannot impersonate a web site.
 */
export function createAuthority(
  machineNames: readonly string[],
  { name, now, random = randomBytes }: Subject,
): CertificatePair {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const subject = distinguishedName(`Parley on ${name}`);
  const domains = [...new Set([...localDomains, ...machineNames.filter(isMachineName)])];
  return issue({
    subject,
    issuer: subject,
    keys,
    signer: keys.privateKey,
    now,
    random,
    days: authorityDays,
    extensions: [
      // An authority that signs no other authorities.
      extension(ids.basicConstraints, true, sequence(boolean(true), integer(Uint8Array.of(0)))),
      extension(ids.keyUsage, true, bits(Uint8Array.of(keyCertSign), 2)),
      extension(ids.extendedKeyUsage, false, sequence(oid(ids.serverAuth))),
      extension(ids.nameConstraints, true, sequence(tagged(0, true, ...permitted(domains)))),
      extension(ids.subjectKey, false, octets(keyId(keys.publicKey))),
    ],
  });
}

/** A certificate for the server. Names and addresses must be those that the authority may vouch for (`isPermitted`). */
export function createServerCertificate(
  authority: CertificatePair,
  hosts: readonly string[],
  { name, now, random = randomBytes }: Subject,
): CertificatePair {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const parent = new X509Certificate(authority.certificate);
  return issue({
    subject: distinguishedName(name),
    issuer: subjectOf(parent),
    keys,
    now,
    random,
    signer: createPrivateKey(authority.key),
    days: serverDays,
    extensions: [
      extension(ids.basicConstraints, true, sequence()),
      extension(ids.keyUsage, true, bits(Uint8Array.of(digitalSignature), 7)),
      extension(ids.extendedKeyUsage, false, sequence(oid(ids.serverAuth))),
      extension(ids.subjectNames, false, sequence(...hosts.map(generalName))),
      extension(ids.subjectKey, false, octets(keyId(keys.publicKey))),
      extension(ids.authorityKey, false, sequence(tagged(0, false, keyId(parent.publicKey)))),
    ],
  });
}

/** Whether the authority may vouch for a name or an address. A certificate with any other one is refused as a whole. */
export function isPermitted(host: string, machineNames: readonly string[]): boolean {
  if (isIP(host) !== 0) return localSubnets.some((subnet) => isIn(host, subnet));
  return (
    isDnsName(host) &&
    [...localDomains, ...machineNames.filter(isMachineName)].some(
      (domain) => host === domain || host.endsWith(`.${domain}`),
    )
  );
}

/** Whether the server of this certificate and key is trusted where the authority is. */
export function isIssuedBy({ certificate, key }: CertificatePair, authority: CertificatePair): boolean {
  const issued = new X509Certificate(certificate);
  return (
    issued.verify(new X509Certificate(authority.certificate).publicKey) && issued.checkPrivateKey(createPrivateKey(key))
  );
}

interface Contents extends Required<Pick<Subject, 'now' | 'random'>> {
  readonly subject: Buffer;
  readonly issuer: Buffer;
  readonly keys: KeyPairKeyObjectResult;
  /** The private key of the issuer. */
  readonly signer: KeyObject;
  readonly extensions: readonly Buffer[];
  readonly days: number;
}

/** Certificate of RFC 5280. */
function issue({ subject, issuer, keys, signer, extensions, now, days, random }: Contents): CertificatePair {
  const { publicKey, privateKey } = keys;
  const algorithm = sequence(oid(ids.ecdsaSha256));
  const version3 = tagged(0, true, integer(Uint8Array.of(2)));
  const begin = now - backdated;
  const signed = sequence(
    version3,
    integer(random(16)),
    algorithm,
    issuer,
    sequence(time(begin), time(begin + days * day)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(3, true, sequence(...extensions)),
  );
  const certificate = sequence(signed, algorithm, bits(sign('sha256', signed, signer)));
  return {
    certificate: pem('CERTIFICATE', certificate),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** Bits of the key usage. */
const digitalSignature = 0x80;
const keyCertSign = 0x04;

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return sequence(oid(id), ...(critical ? [boolean(true)] : []), octets(value));
}

function distinguishedName(commonName: string): Buffer {
  const part = (id: string, text: string) => set(sequence(oid(id), utf8(text)));
  // Longer ones are refused by some programs.
  return sequence(part(ids.organization, 'Parley'), part(ids.commonName, commonName.slice(0, 64)));
}

/** The same bytes that the authority has: a name that is encoded in another way would be another one. */
function subjectOf({ raw }: X509Certificate): Buffer {
  const fields = children(children(raw)[0] ?? raw);
  // Version, serial number, algorithm, issuer, validity, subject.
  return fields[5] ?? Buffer.alloc(0);
}

/** The elements in a constructed element that `issue` wrote. */
function children(element: Buffer): readonly Buffer[] {
  const start = (at: number): { content: number; end: number } => {
    const short = element[at + 1] ?? 0;
    const lengthBytes = short < 0x80 ? 0 : short & 0x7f;
    const length = lengthBytes === 0 ? short : element.readUIntBE(at + 2, lengthBytes);
    return { content: at + 2 + lengthBytes, end: at + 2 + lengthBytes + length };
  };
  const { content, end } = start(0);
  const elements: Buffer[] = [];
  for (let at = content; at < end; at = start(at).end) elements.push(element.subarray(at, start(at).end));
  return elements;
}

/** RFC 7093: the first 160 bits of SHA-256 of the public key. */
function keyId(publicKey: KeyObject): Buffer {
  // An uncompressed point of P-256 has 65 bytes and is at the end.
  const point = publicKey.export({ type: 'spki', format: 'der' }).subarray(-65);
  return createHash('sha256').update(point).digest().subarray(0, 20);
}

/** `dNSName` and `iPAddress`. */
const generalName = (host: string): Buffer =>
  isIP(host) === 0 ? tagged(2, false, Buffer.from(host)) : tagged(7, false, ipBytes(host));

function permitted(domains: readonly string[]): readonly Buffer[] {
  const subnets = localSubnets.map(({ address, prefix }) => {
    const bytes = ipBytes(address);
    const mask = bytes.map((_, index) => 0xff & ~(0xff >> Math.min(8, Math.max(0, prefix - index * 8))));
    return sequence(tagged(7, false, bytes, mask));
  });
  return [...domains.map((domain) => sequence(tagged(2, false, Buffer.from(domain)))), ...subnets];
}

const isDnsName = (name: string): boolean =>
  name.length <= 253 && name.split('.').every((label) => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label));

/**
 * Of a name of one label, all names below it could belong to the internet: a machine may be called `dev` or `app`. Only those that are surely no
 * top-level domain: these have letters alone, or begin with `xn--`.
 */
const isMachineName = (name: string): boolean =>
  isDnsName(name) && (name.includes('.') || (/[^a-z]/.test(name) && !name.startsWith('xn--')));

function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
