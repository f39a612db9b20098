/** What stable-diffusion.cpp is loaded from, by the names that its driver has for the parts. All paths are absolute. */
export interface PainterFiles {
  readonly model: string;
  readonly clipL?: string;
  readonly clipG?: string;
  readonly t5Xxl?: string;
  readonly llm?: string;
  readonly vae?: string;
}

export type PainterConfig = Readonly<Record<string, string | number | boolean>>;

export interface PainterLoad {
  /** The driver's own module. */
  readonly module: string;
  readonly files: PainterFiles;
  readonly config: PainterConfig;
  /** A file that enlarges pictures; it is opened when somebody wants that. */
  readonly upscaler?: string | undefined;
  readonly upscalerConfig: PainterConfig;
}

/** One picture, by the names of the driver. */
export interface PaintParams {
  readonly prompt: string;
  readonly negative_prompt: string;
  readonly width: number;
  readonly height: number;
  readonly steps: number;
  readonly cfg_scale: number;
  readonly guidance?: number;
  readonly sampling_method: string;
  readonly scheduler?: string;
  readonly seed: number;
  readonly batch_count: 1;
  readonly clip_skip?: number;
  readonly vae_tiling: boolean;
  readonly strength?: number;
  readonly lora?: string;
}

/** To the process that has stable-diffusion.cpp in it; pictures go as the bytes of a message. */
export type ToPainter =
  | { readonly type: 'load'; readonly load: PainterLoad }
  | { readonly type: 'draw'; readonly id: number; readonly params: PaintParams; readonly initial: boolean }
  | { readonly type: 'upscale'; readonly id: number }
  | { readonly type: 'cancel' };

export type FromPainter =
  | { readonly type: 'loaded' }
  | { readonly type: 'load-failed'; readonly reason: string }
  | { readonly type: 'progress'; readonly id: number; readonly step: number; readonly steps: number }
  | { readonly type: 'picture'; readonly id: number }
  | { readonly type: 'ended'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly reason: string };

/** Lengths of the words and of the bytes, each as 32 bits. */
const headBytes = 8;
const none = new Uint8Array();

/** One message with the bytes that go with it, for a pipe. */
export function frame(message: object, bytes: Uint8Array = none): Uint8Array {
  const words = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(headBytes);
  head.writeUInt32LE(words.length, 0);
  head.writeUInt32LE(bytes.byteLength, 4);
  return Buffer.concat([head, words, bytes]);
}

/** Puts messages together again, however the pipe cut them. */
export class FrameReader<Message> {
  #chunks: Uint8Array[] = [];
  #length = 0;
  #needed = headBytes;

  constructor(private readonly deliver: (message: Message, bytes: Uint8Array) => void) {}

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#length += chunk.byteLength;
    while (this.#length >= this.#needed) {
      // Joined only when a whole message is there: large ones come in many pieces.
      const all = Buffer.concat(this.#chunks);
      this.#chunks = [all];
      const words = all.readUInt32LE(0);
      const end = headBytes + words + all.readUInt32LE(4);
      this.#needed = end;
      if (all.length < end) return;
      this.#chunks = [all.subarray(end)];
      this.#length -= end;
      this.#needed = headBytes;
      const message = JSON.parse(all.toString('utf8', headBytes, headBytes + words)) as Message;
      this.deliver(message, all.subarray(headBytes + words, end));
    }
  }
}
