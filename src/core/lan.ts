/** How others in the network reach this server (`--lan`). */
export interface LanFacts {
  /** Addresses that phones in the same network reach, the most likely one first. */
  readonly addresses: readonly string[];
  /** Names that lead here in the local network. */
  readonly names: readonly string[];
  readonly port: number;
  /** SHA-256 of the certificate of the authority; missing with a certificate of one's own (`--ssl`). */
  readonly fingerprint?: string | undefined;
  /** Whether others than this machine can connect: not with `--host 127.0.0.1`. */
  readonly isPublic: boolean;
  /** Those of the addresses that are not private: the certificate does not name them. */
  readonly unnamed: readonly string[];
}

export interface LanService {
  facts(): LanFacts;
  /** The certificate of the authority, as PEM; undefined with `--ssl`. */
  authority(): string | undefined;
  /** The same as a profile for iOS and macOS. */
  profile(): string | undefined;
}

/** Where the facts of `--lan` are. */
export const lanPath = '/api/extra/lan';
