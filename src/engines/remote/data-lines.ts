/** Longer than any line that an engine has a reason to send. */
const longestLine = 32 * 2 ** 20;

/**
 * The data of server-sent events, however the stream was cut: one call for each event. Names, comments and retry times are
 * of no interest here.
 */
export class DataLines {
  #rest = '';
  #data: string | undefined;

  constructor(private readonly told: (data: string) => void) {}

  /** Throws where a line has no end. */
  push(piece: string): void {
    const text = this.#rest === '' ? piece : this.#rest + piece;
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      this.#line(text.slice(start, text.charCodeAt(end - 1) === 13 && end > start ? end - 1 : end));
      start = end + 1;
    }
    this.#rest = text.slice(start);
    if (this.#rest.length > longestLine) throw new Error('a line of the stream has no end');
  }

  /** Some servers leave out the last empty line. */
  end(): void {
    if (this.#rest !== '') this.#line(this.#rest.replace(/\r$/, ''));
    this.#rest = '';
    this.#line('');
  }

  #line(line: string): void {
    if (line === '') {
      const data = this.#data;
      this.#data = undefined;
      if (data !== undefined) this.told(data);
    } else if (line.startsWith('data:')) {
      const value = line.charCodeAt(5) === 32 ? line.slice(6) : line.slice(5);
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    }
  }
}
