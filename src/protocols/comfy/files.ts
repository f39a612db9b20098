/** Pictures that clients sent and that were drawn for them: in memory alone, and the oldest go when there are too many. */
export interface FileName {
  readonly type: FileType;
  readonly subfolder: string;
  readonly name: string;
}

export type FileType = 'input' | 'output' | 'temp';

export interface StoredFile {
  readonly bytes: Uint8Array;
  readonly contentType: string;
}

export interface FileLimits {
  readonly bytes: number;
  readonly files: number;
}

const usualLimits: FileLimits = { bytes: 256 * 2 ** 20, files: 500 };

export class ComfyFiles {
  readonly #files = new Map<string, StoredFile>();
  readonly #limits: FileLimits;
  #bytes = 0;

  constructor(limits: FileLimits = usualLimits) {
    this.#limits = limits;
  }

  get(name: FileName): StoredFile | undefined {
    return this.#files.get(keyOf(name));
  }

  put(name: FileName, file: StoredFile): void {
    const key = keyOf(name);
    this.#remove(key);
    this.#files.set(key, file);
    this.#bytes += file.bytes.length;
    for (const oldest of this.#files.keys()) {
      if (oldest === key || (this.#bytes <= this.#limits.bytes && this.#files.size <= this.#limits.files)) return;
      this.#remove(oldest);
    }
  }

  /** The names of the pictures that were sent. */
  sent(): readonly string[] {
    const start = 'input/';
    return [...this.#files.keys()]
      .filter((key) => key.startsWith(start))
      .map((key) => key.slice(start.length).replace(/^\//, ''));
  }

  #remove(key: string): void {
    this.#bytes -= this.#files.get(key)?.bytes.length ?? 0;
    this.#files.delete(key);
  }
}

function keyOf({ type, subfolder, name }: FileName): string {
  return `${type}/${subfolder}/${name}`;
}

/** A name as nodes have it: `folder/name.png [output]`. Undefined for one that leads out of the store. */
export function annotatedName(text: string, usual: FileType): FileName | undefined {
  const [, bare = text, type = usual] = /^(.*?)(?: \[(input|output|temp)\])?$/s.exec(text) ?? [];
  const slash = bare.lastIndexOf('/');
  const [subfolder, name] = [bare.slice(0, Math.max(0, slash)), bare.slice(slash + 1)];
  return isPlainName(name) && isPlainFolder(subfolder) ? { type: type as FileType, subfolder, name } : undefined;
}

export function isPlainName(name: string): boolean {
  return name !== '' && name.length <= 255 && !/[/\\]|[^\P{Cc}]/u.test(name) && !/^\.{1,2}$/.test(name);
}

export function isPlainFolder(folder: string): boolean {
  return folder === '' || folder.split('/').every(isPlainName);
}

/** What a client would like its files to be called, as something that needs no quoting anywhere. */
export function outputName(
  prefix: string,
  number: number,
  now: Date,
): { readonly subfolder: string; readonly name: string } {
  const dated = prefix.replace(/%date:([^%]{1,40})%/g, (_, format: string) => formatted(format, now));
  const parts = dated.split(/[/\\]+/).map((part) =>
    part
      .replace(/[^A-Za-z0-9._-]+/g, '_')
      .replace(/^\.+/, '')
      .slice(0, 80),
  );
  const plain = parts.filter((part) => part !== '');
  const name = `${plain.at(-1) ?? 'ComfyUI'}_${String(number).padStart(5, '0')}_.png`;
  return { subfolder: plain.slice(0, -1).slice(0, 8).join('/'), name };
}

function formatted(format: string, now: Date): string {
  const [year = '', month = '', day = '', hour = '', minute = '', second = ''] = now.toISOString().split(/[-T:.]/);
  const words: Readonly<Record<string, string>> = { yyyy: year, MM: month, dd: day, hh: hour, mm: minute, ss: second };
  return format.replace(/yyyy|MM|dd|hh|mm|ss/g, (word) => words[word] ?? word);
}
