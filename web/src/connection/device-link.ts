/** What `GET /api/extra/lan` answers. */
export interface LanAnswer {
  readonly enabled: boolean;
  /** Whether others than this machine can connect. */
  readonly public: boolean;
  readonly addresses: readonly string[];
  readonly names: readonly string[];
  readonly port: number | null;
  /** Null with a certificate of one's own. */
  readonly fingerprint: string | null;
}

/** The hosts that a device can open, the likeliest first. */
export const hostsOf = ({ addresses, names }: LanAnswer): readonly string[] => [...addresses, ...names];

/** What a QR code says: a one-time link. Plain HTTP, since the device does not trust the certificate yet; the page goes on to HTTPS. */
export function deviceLink(host: string, port: number, token: string): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}/join#${token}`;
}
