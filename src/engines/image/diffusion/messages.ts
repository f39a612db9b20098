/** Files of a model, by their names in the driver. Absolute paths. */
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
  /** URL of the driver's module. */
  readonly module: string;
  readonly files: PainterFiles;
  readonly config: PainterConfig;
  /** An ESRGAN file, opened on first use. */
  readonly upscaler?: string | undefined;
  readonly upscalerConfig: PainterConfig;
}

/** Parameters of a picture, by their names in the driver. */
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

/** Messages to the process with stable-diffusion.cpp; pictures are the bytes of a message. */
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

/** Lengths of the JSON and of the bytes, 32 bits each. */
const headBytes = 8;
const none = new Uint8Array();

/** Encodes a message with its bytes. */
export function frame(message: object, bytes: Uint8Array = none): Uint8Array {
  const words = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(headBytes);
  head.writeUInt32LE(words.length, 0);
  head.writeUInt32LE(bytes.byteLength, 4);
  return Buffer.concat([head, words, bytes]);
}

/** Decodes messages from chunks of any length. */
export class FrameReader<Message> {
  #chunks: Uint8Array[] = [];
  #length = 0;
  #needed = headBytes;

  constructor(private readonly deliver: (message: Message, bytes: Uint8Array) => void) {}

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#length += chunk.byteLength;
    while (this.#length >= this.#needed) {
      // Concatenated only when a message is complete: large ones come in many chunks.
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
