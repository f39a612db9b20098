import type { LanFacts } from '../core/lan.ts';
import type { IssuedInvitation } from '../core/people.ts';
import { isPublicAddress } from '../http/address.ts';
import { commonName, lanUrl } from './lan.ts';
import { qrCode, qrLines } from './qr-code.ts';

/** Where others find the server. */
export function addressLines(facts: LanFacts): readonly string[] {
  const { addresses, names, port, isPublic } = facts;
  const [first] = addresses;
  if (first === undefined) return ['No network is connected: others cannot reach this server yet.'];
  if (!isPublic)
    return [`Only this machine reaches the server: it listens on ${first} (--host).`, ...secureLines(facts, first)];
  const hosts = [...addresses, ...names];
  return [
    `In your network: ${hosts.map((host) => lanUrl('http', host, port)).join('  ')}`,
    ...addresses.filter(isPublicAddress).map(publicLine),
    ...secureLines(facts, first),
  ];
}

const publicLine = (address: string): string =>
  `${address} is a public address: everybody on the internet may reach this server, and needs a key there, too. --host ADDRESS leaves it out.`;

/** What HTTPS needs; nothing with a certificate of one's own. */
function secureLines({ names, port, fingerprint, unnamed }: LanFacts, first: string): readonly string[] {
  if (fingerprint === undefined) return [];
  const byName = unnamed.map(
    (address) =>
      `https:// works by name only, such as ${lanUrl('https', names[0] ?? commonName, port)}: ${address} is not a private address.`,
  );
  return [
    `With a microphone and as an app: https:// instead of http://. How to trust its certificate: ${lanUrl('http', first, port, '/lan')}`,
    `Fingerprint of its authority (SHA-256): ${fingerprint}`,
    ...byName,
  ];
}

/** A link that works once, as a QR code. `color`: for a terminal, where a code is dark on light whatever its colors are. */
export function invitationLines(
  { addresses, port }: LanFacts,
  { name, token, expires }: Pick<IssuedInvitation, 'name' | 'token' | 'expires'>,
  color: boolean,
): readonly string[] {
  const [address] = addresses;
  if (address === undefined) return [];
  const url = lanUrl('http', address, port, `/join#${token}`);
  const until = new Date(expires).toTimeString().slice(0, 5);
  return [
    '',
    ...codeLines(url, color),
    '',
    `Scan it with the camera of a phone, or open ${url}`,
    `It works once, until ${until}, and gives the phone a key of its own ("${name}"). Show it to nobody else.`,
  ];
}

/** `command`: how the program is started. */
export const nextCodeLine = (command: string): string => `To let a phone in: ${command} lan --new shows a QR code.`;

function codeLines(text: string, color: boolean): readonly string[] {
  const lines = qrLines(qrCode(text));
  return color ? lines.map((line) => `\u001b[97;40m${line}\u001b[0m`) : lines;
}
