import { X509Certificate } from 'node:crypto';
import { readFileSync, type Stats, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';

/** PEM texts. */
export interface TlsPair {
  readonly certificate: string | Buffer;
  readonly key: string | Buffer;
}

interface Watching {
  /** Throws for a pair that cannot be used; nothing changes then. */
  readonly use: (pair: TlsPair) => void;
  readonly log: (sentence: string) => void;
}

const pollMilliseconds = 500;

/** Certificate and key of `--ssl`. Programs that renew certificates replace these files while the server runs. */
export class CertificateFiles {
  /** As the files were at the start. */
  readonly pair: TlsPair;
  readonly #paths: readonly [certificate: string, key: string];
  /** The state of both files that was read last, whether it could be used or not. */
  #read: string;
  /** A state that is not read before it is current twice: the two files are replaced one after the other. */
  #changed = '';

  /** Throws if one of them cannot be read. */
  constructor(certificate: string, key: string) {
    this.#paths = [certificate, key];
    // Before the content, so that no change is missed.
    this.#read = this.#paths.map((path) => versionOf(statSync(path))).join();
    this.pair = { certificate: readFileSync(certificate), key: readFileSync(key) };
  }

  /** Until the program ends. By polling, because events are missed on network drives and behind links. */
  watch(watching: Watching): void {
    const poll = async (): Promise<void> => {
      await this.refresh(watching);
      setTimeout(poll, pollMilliseconds).unref();
    };
    setTimeout(poll, pollMilliseconds).unref();
  }

  /** Checks the files once. A pair that cannot be used is reported, and the former one stays. */
  async refresh({ use, log }: Watching): Promise<void> {
    const current = (await Promise.all(this.#paths.map(currentVersion))).join();
    const isStable = current === this.#changed;
    this.#changed = current;
    if (current === this.#read || !isStable) return;
    this.#read = current;
    try {
      const [certificate, key] = await Promise.all([readFile(this.#paths[0]), readFile(this.#paths[1])]);
      const { validTo } = new X509Certificate(certificate);
      use({ certificate, key });
      log(`The new certificate of --ssl is used for new connections. It is valid until ${validTo}.`);
    } catch (error) {
      log(
        `The changed certificate and key of --ssl cannot be used: ${(error as Error).message}. The former ones stay.`,
      );
    }
  }
}

async function currentVersion(path: string): Promise<string> {
  return versionOf(await stat(path).catch(() => undefined));
}

function versionOf(facts: Pick<Stats, 'ino' | 'size' | 'mtimeMs'> | undefined): string {
  return facts ? `${facts.ino} ${facts.size} ${facts.mtimeMs}` : 'missing';
}
