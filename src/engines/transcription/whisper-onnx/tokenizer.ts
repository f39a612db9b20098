/** Files of a Whisper model for Transformers, as parsed JSON. */
interface TokenizerFiles {
  /** Numbers of the tokens, which are texts of stand-ins for bytes. */
  readonly vocabulary: Readonly<Record<string, number>>;
  /** Special tokens and languages. */
  readonly added: Readonly<Record<string, number>>;
  /** Pairs of tokens, one a line, the first ones joined first. */
  readonly merges: string;
}

/** Byte-level BPE of the multilingual Whisper models. */
export class WhisperTokenizer {
  readonly #bytes: Uint8Array[] = [];
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #ranks: ReadonlyMap<string, number>;
  readonly #added: Readonly<Record<string, number>>;

  constructor({ vocabulary, added, merges }: TokenizerFiles) {
    this.#added = added;
    this.#numbers = new Map(Object.entries(vocabulary));
    for (const [text, number] of this.#numbers) {
      const bytes = Array.from(text, (character) => byteOf.get(character));
      if (!bytes.includes(undefined)) this.#bytes[number] = Uint8Array.from(bytes as number[]);
    }
    const lines = merges.split('\n').filter((line) => line !== '' && !line.startsWith('#version'));
    this.#ranks = new Map(lines.map((line, rank) => [line.trimEnd(), rank]));
  }

  /** The number of `<|name|>`. */
  special(name: string): number {
    const token = this.#added[`<|${name}|>`];
    if (token === undefined) throw new Error(`the model has no token <|${name}|>`);
    return token;
  }

  /** Empty for special tokens. A character may go on in the next token. */
  bytesOf(token: number): Uint8Array {
    return this.#bytes[token] ?? none;
  }

  decode(tokens: readonly number[]): string {
    return Buffer.concat(tokens.map((token) => this.bytesOf(token))).toString();
  }

  encode(text: string): readonly number[] {
    return (text.match(wordPattern) ?? []).flatMap((word) => this.#joined(word));
  }

  #joined(word: string): readonly number[] {
    const parts = Array.from(Buffer.from(word), (byte) => characterOf[byte] as string);
    for (;;) {
      let best = { rank: Number.POSITIVE_INFINITY, at: -1 };
      for (let at = 0; at + 1 < parts.length; at++) {
        const rank = this.#ranks.get(`${parts[at]} ${parts[at + 1]}`);
        if (rank !== undefined && rank < best.rank) best = { rank, at };
      }
      if (best.at < 0) break;
      parts.splice(best.at, 2, `${parts[best.at]}${parts[best.at + 1]}`);
    }
    return parts.flatMap((part) => this.#numbers.get(part) ?? []);
  }
}

const none = new Uint8Array();

/** Words with the space before them, numbers, signs, and spaces. A word is short enough for the joining, which is quadratic. */
const wordPattern =
  /'(?:s|t|re|ve|m|ll|d)| ?\p{L}{1,200}| ?\p{N}{1,200}| ?[^\s\p{L}\p{N}]{1,200}|\s{1,200}(?!\S)|\s{1,200}/gu;

/** GPT-2's visible stand-ins for bytes: printable bytes map to themselves, the others to code points from 256. */
const characterOf: readonly string[] = standIns();
const byteOf: ReadonlyMap<string, number> = new Map(characterOf.map((character, byte) => [character, byte]));

function standIns(): string[] {
  const printable = (byte: number) =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
  let others = 0;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : 256 + others++));
}
