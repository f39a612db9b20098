/** A file that came from an address. */
export class WebFile extends File {
  readonly url: string;

  constructor(parts: BlobPart[], name: string, url: string, type: string) {
    super(parts, name, { type });
    this.url = url;
  }
}
