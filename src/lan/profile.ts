import { createHash, X509Certificate } from 'node:crypto';

/** A configuration profile with which iOS, iPadOS and macOS install the certificate of the authority. */
export function appleProfile(authority: string): string {
  const { raw, subject } = new X509Certificate(authority);
  const name = xml(/CN=(.*)/.exec(subject)?.[1] ?? 'Parley');
  const digest = createHash('sha256').update(raw).digest('hex');
  // The same certificate has the same ids: installing it again replaces it.
  const uuid = (start: number): string =>
    digest
      .slice(start, start + 32)
      .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
      .toUpperCase();
  const id = `app.parley.lan.${digest.slice(0, 16)}`;
  const lines = raw.toString('base64').match(/.{1,64}/g) ?? [];
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>PayloadContent</key>
  <array>
    <dict>
      <key>PayloadCertificateFileName</key><string>parley.crt</string>
      <key>PayloadContent</key>
      <data>
${lines.join('\n')}
      </data>
      <key>PayloadDisplayName</key><string>${name}</string>
      <key>PayloadIdentifier</key><string>${id}.certificate</string>
      <key>PayloadType</key><string>com.apple.security.root</string>
      <key>PayloadUUID</key><string>${uuid(0)}</string>
      <key>PayloadVersion</key><integer>1</integer>
    </dict>
  </array>
  <key>PayloadDescription</key><string>Lets this device check that it speaks with Parley. It is valid for names and addresses of the local network only.</string>
  <key>PayloadDisplayName</key><string>${name}</string>
  <key>PayloadIdentifier</key><string>${id}</string>
  <key>PayloadRemovalDisallowed</key><false/>
  <key>PayloadType</key><string>Configuration</string>
  <key>PayloadUUID</key><string>${uuid(32)}</string>
  <key>PayloadVersion</key><integer>1</integer>
</dict>
</plist>
`;
}

const xml = (text: string): string => text.replace(/[<>&]/g, (character) => `&#${character.charCodeAt(0)};`);
