import { translatable } from '../languages/index.ts';

export const texts = translatable('connection', {
  title: 'Secure connection',
  why: 'Browsers allow the microphone, notifications and installing as an app only over HTTPS. This server has made a certificate for that; tell this device once to trust it. It is valid for your local network only, not for web sites.',
  system: 'System',
  systems: { apple: 'iPhone, iPad', android: 'Android', windows: 'Windows', mac: 'Mac', linux: 'Linux' },
  download: 'Download the certificate',
  none: 'This server has no certificate of its own: it was started without --lan, or with --ssl.',
  steps: {
    apple: [
      'Download the profile with the button above. Tap Allow when Safari asks.',
      'Open Settings > General > VPN & Device Management, tap the Parley profile, then Install.',
      'Open Settings > General > About > Certificate Trust Settings and switch Parley on.',
    ],
    android: [
      'Download the certificate with the button above.',
      'Open Settings, search for “CA certificate”, and open it.',
      'Tap Install anyway and choose parley.crt.',
    ],
    windows: [
      'Download the certificate, open parley.crt and click Install Certificate.',
      'Choose Current User, then Place all certificates in the following store: Trusted Root Certification Authorities.',
      'Click Finish, then Yes, and restart the browser.',
    ],
    mac: [
      'Download the certificate and open parley.crt: Keychain Access adds it.',
      'Double-click Parley in the list of Keychain Access and open Trust.',
      'Choose Always Trust, close the window and enter your password.',
    ],
    linux: [
      'Download the certificate with the button above.',
      'Chrome: open chrome://certificate-manager, Installed by you. Firefox: Settings > Certificates > View Certificates > Authorities.',
      'Click Import, choose parley.crt and allow it to identify web sites.',
    ],
  },
  fingerprint: 'Before you trust it, compare: the console of the server shows the same fingerprint (SHA-256).',
  secure: 'Open with HTTPS',
  warning:
    'Until the certificate is trusted, the browser shows a warning there. Microphone and notifications work after Advanced > Proceed in most browsers; installing as an app does not.',
  without: 'Go on without',
  withoutNote:
    'Chat, stories and pictures work. No microphone, no notifications, and others in your network can read along.',
  isSecure: 'This connection is encrypted. Microphone and notifications work here.',
  checking: 'Checking whether this device trusts the certificate…',
});
