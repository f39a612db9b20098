/** Messages to a native driver in the Bare runtime. It loads one model and runs one task at a time, whose input is the bytes of `run`. */
export type ToDriver<Load, Task> =
  | { readonly type: 'load'; readonly load: Load }
  | { readonly type: 'run'; readonly id: number; readonly task: Task }
  | { readonly type: 'cancel' };

/** The result of a task is the bytes of `done`. */
export type FromDriver<Progress> =
  | { readonly type: 'loaded' }
  | { readonly type: 'load-failed'; readonly reason: string }
  | { readonly type: 'progress'; readonly id: number; readonly progress: Progress }
  | { readonly type: 'done'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly reason: string };

/** Lengths of the JSON and of the bytes, 32 bits each. */
const headBytes = 8;
const none = new Uint8Array();

export function frame(message: object, bytes: Uint8Array = none): Uint8Array {
  const json = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(headBytes);
  head.writeUInt32LE(json.length, 0);
  head.writeUInt32LE(bytes.byteLength, 4);
  return Buffer.concat([head, json, bytes]);
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
      const bytesAt = headBytes + all.readUInt32LE(0);
      const end = bytesAt + all.readUInt32LE(4);
      this.#needed = end;
      if (all.length < end) return;
      this.#chunks = [all.subarray(end)];
      this.#length -= end;
      this.#needed = headBytes;
      const message = JSON.parse(all.toString('utf8', headBytes, bytesAt)) as Message;
      this.deliver(message, all.subarray(bytesAt, end));
    }
  }
}
