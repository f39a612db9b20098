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
