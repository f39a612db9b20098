import { translatable } from '../languages/index.ts';

/** The dialog that lets a phone or another computer in. */
export const deviceTexts = translatable('device', {
  title: 'Connect a device',
  notOpen: 'Only this machine can use the server. Start it with --lan to let phones and computers in your network in:',
  command: 'parley --lan',
  commandLabel: 'Command that opens the server to the local network',
  notOpenHelp: 'A QR code is shown here then. Others in the network need a code or a key; this machine needs none.',
  onlyHere: 'The server listens on this machine only (--host). Start it without --host to let others in.',
  noNetwork: 'This machine is in no network. Connect it to the Wi-Fi or the router, then open this dialog again.',
  unreachable: 'The phone has to be in the same network. If it does not reach the server, run parley doctor.',
  certificate: 'For the microphone and as an app it has to trust a certificate:',
  certificateLink: 'how, and its fingerprint',
  scopes: 'It gets a key of its own, for everything but administration.',
  manage: 'Choose a name and what it may use',
  phone: 'Phone',
  retry: 'Try again',
});
