interface SseHandlers {
  /** One event; its name is `message` unless the stream says otherwise, its id empty. */
  event(data: string, name: string, id: string): void;
  comment?(text: string): void;
}

export class SseLimitError extends Error {}

/** Parses server-sent events from text that may be split anywhere, in linear time. Ignores retry times. */
export class SseParser {
  #parts: string[] = [];
  #data: string[] = [];
  #name = '';
  #id = '';
  /** Characters since the last event. */
  #pending = 0;
  #begun = false;
  /** The last character was a carriage return; a line feed would belong to it. */
  #afterReturn = false;

  constructor(
    private readonly handlers: SseHandlers,
    private readonly maxPending = Number.POSITIVE_INFINITY,
  ) {}

  /** Throws `SseLimitError` when more characters than the limit came without completing an event. */
  push(piece: string): void {
    let start = this.#skipped(piece);
    let feed = piece.indexOf('\n', start);
    let carriage = piece.indexOf('\r', start);
    while (feed !== -1 || carriage !== -1) {
      const isReturn = carriage !== -1 && (feed === -1 || carriage < feed);
      const end = isReturn ? carriage : feed;
      this.#count(end + 1 - start);
      this.#line(this.#joined(piece.slice(start, end)));
      start = end + 1;
      if (isReturn && feed === start) start += 1;
      this.#afterReturn = isReturn && start === piece.length && feed !== start - 1;
      if (feed !== -1 && feed < start) feed = piece.indexOf('\n', start);
      if (carriage !== -1 && carriage < start) carriage = piece.indexOf('\r', start);
    }
    if (start === piece.length) return;
    this.#parts.push(start === 0 ? piece : piece.slice(start));
    this.#count(piece.length - start);
  }

  /** Some servers omit the last line end, or the empty line after the last event. */
  end(): void {
    if (this.#parts.length > 0) this.#line(this.#joined(''));
    this.#line('');
  }

  /** Characters at the start to skip: a byte order mark, the second half of a line end. */
  #skipped(piece: string): number {
    if (piece === '') return 0;
    const first = piece.charCodeAt(0);
    const skips = (this.#afterReturn && first === 10) || (!this.#begun && first === 0xfeff);
    this.#begun = true;
    this.#afterReturn = false;
    return skips ? 1 : 0;
  }

  #joined(last: string): string {
    if (this.#parts.length === 0) return last;
    this.#parts.push(last);
    const line = this.#parts.join('');
    this.#parts = [];
    return line;
  }

  #count(characters: number): void {
    this.#pending += characters;
    if (this.#pending > this.maxPending) {
      throw new SseLimitError(`it sent ${this.#pending} characters without completing an event`);
    }
  }

  #line(line: string): void {
    if (line === '') this.#complete();
    else if (line.startsWith(':')) this.handlers.comment?.(line.slice(1).trim());
    else {
      const colon = line.indexOf(':');
      const field = colon === -1 ? line : line.slice(0, colon);
      const value = colon === -1 ? '' : line.slice(line.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1);
      if (field === 'data') this.#data.push(value);
      else if (field === 'event') this.#name = value;
      else if (field === 'id') this.#id = value;
    }
  }

  #complete(): void {
    const [only, ...more] = this.#data;
    const name = this.#name || 'message';
    const id = this.#id;
    this.#name = '';
    this.#id = '';
    if (only === undefined) return;
    this.#data = [];
    this.#pending = 0;
    this.handlers.event(more.length === 0 ? only : [only, ...more].join('\n'), name, id);
  }
}
