import type { Page, Request } from 'playwright-core';

interface ScriptedFile {
  readonly id: string;
  readonly name: string;
  readonly path?: string;
  readonly text: string;
  readonly status: 'in_progress' | 'completed' | 'failed';
  readonly progress: number;
  readonly error: { readonly code: string; readonly message: string } | null;
}

interface ScriptedCollection {
  id: string;
  name: string;
  description: string;
  files: ScriptedFile[];
  folders: { path: string; include: string[]; exclude: string[]; max_file_bytes: number }[];
  embedding: string;
  is_outdated: boolean;
}

/** The collections of a server as its API tells of them, without an engine behind: what is found is what contains a word of the question. */
export class ScriptedDocuments {
  readonly collections: ScriptedCollection[] = [];
  readonly searches: { query: string; collections?: string[]; conversation?: string[] }[] = [];
  canAddFolders = true;
  #last = 0;

  add(name: string, texts: Readonly<Record<string, string>> = {}, more: Partial<ScriptedCollection> = {}) {
    const collection: ScriptedCollection = {
      id: `vs_${this.#next()}`,
      name,
      description: '',
      files: [],
      folders: [],
      embedding: 'parley-embed',
      is_outdated: false,
      ...more,
    };
    this.collections.push(collection);
    for (const [file, text] of Object.entries(texts)) this.addFile(collection, file, text);
    return collection;
  }

  addFile(collection: ScriptedCollection, name: string, text: string, more: Partial<ScriptedFile> = {}) {
    const fresh = { id: `file-${this.#next()}`, name, text, status: 'completed', progress: 1, error: null } as const;
    collection.files.unshift({ ...fresh, ...more });
  }

  #next(): number {
    this.#last += 1;
    return this.#last;
  }

  /** Answers for the server at this address on a page. */
  async serve(page: Page, base: string): Promise<void> {
    await withDocuments(page, base, true);
    await page.route(/\/api\/extra\/documents/, async (route) => {
      const answer = this.#answer(route.request());
      if (answer === undefined)
        await route.fulfill({ status: 404, json: { detail: { msg: 'There is no such collection.' } } });
      else if (typeof answer === 'string') await route.fulfill({ contentType: 'text/plain', body: answer });
      else await route.fulfill({ json: answer });
    });
  }

  #answer(request: Request): object | string | undefined {
    const url = new URL(request.url());
    const [first = '', what = '', name = '', form = ''] = url.pathname
      .slice('/api/extra/documents'.length + 1)
      .split('/')
      .map(decodeURIComponent);
    const method = request.method();
    const isForm = request.headers()['content-type']?.includes('multipart') ?? false;
    const body = (isForm || method !== 'POST' ? {} : (request.postDataJSON() ?? {})) as Record<string, string>;
    if (first === '') {
      if (method === 'POST') return this.#told(this.add(body.name ?? '', {}, { description: body.description ?? '' }));
      return { collections: this.collections.map((one) => this.#told(one)), can_add_folders: this.canAddFolders };
    }
    if (first === 'search') return this.#search(body as never);
    if (first === 'passages') return this.#passage(what);
    const collection = this.collections.find(({ id }) => id === first);
    if (!collection) return undefined;
    if (what === '' && method === 'DELETE') this.collections.splice(this.collections.indexOf(collection), 1);
    else if (what === '') Object.assign(collection, body);
    else if (what === 'reindex') collection.is_outdated = false;
    else if (what === 'folders' && method === 'DELETE')
      collection.folders = collection.folders.filter(({ path }) => path !== url.searchParams.get('path'));
    else if (what === 'folders')
      collection.folders.push({
        path: body.path ?? '',
        include: [],
        exclude: [],
        max_file_bytes: 1,
        ...(body as object),
      });
    else if (method === 'DELETE') collection.files = collection.files.filter(({ id }) => id !== name);
    else if (form !== '') return collection.files.find(({ id }) => id === name)?.text;
    else if (isForm) {
      const sent = (request.postDataBuffer() ?? Buffer.alloc(0)).toString();
      const file = /filename="([^"]*)"/.exec(sent)?.[1] ?? '';
      this.addFile(collection, file, /\r\n\r\n([\s\S]*?)\r\n-{4}/.exec(sent)?.[1] ?? '');
    } else if (method === 'POST') this.addFile(collection, body.url ?? body.name ?? '', body.text ?? 'A page.');
    if (what === 'files') return { files: collection.files.map(told) };
    return this.#told(collection);
  }

  #told({ files, ...rest }: ScriptedCollection): object {
    const count = (status: string) => files.filter((file) => file.status === status).length;
    return {
      ...rest,
      bytes: files.reduce((sum, { text }) => sum + text.length, 0),
      passages: count('completed'),
      files: {
        in_progress: count('in_progress'),
        completed: count('completed'),
        failed: count('failed'),
        cancelled: 0,
        total: files.length,
      },
    };
  }

  /** Each paragraph is a passage, `COLLECTION.NUMBER`. */
  #passages() {
    return this.collections.flatMap((collection) => {
      const all = collection.files
        .filter(({ status }) => status === 'completed')
        .flatMap((file) =>
          [...file.text.matchAll(/[^\n]+/g)].map(({ 0: text, index }) => ({
            ...{
              collection: collection.id,
              file: file.id,
              name: file.name,
              text,
              start: index,
              end: index + text.length,
            },
            ...(file.name.endsWith('.pdf') ? { page: 3, headings: [] } : { headings: ['Introduction'], line: 1 }),
            before: file.text.slice(0, index),
            after: file.text.slice(index + text.length),
          })),
        );
      return all.map((passage, index) => ({ ...passage, passage: `${collection.id}.${index + 1}` }));
    });
  }

  #search(body: { query: string; collections?: string[] }): object | undefined {
    this.searches.push(body);
    if (body.collections?.some((id) => !this.collections.some((one) => one.id === id))) return undefined;
    const words = body.query.toLowerCase().match(/\p{L}{4,}/gu) ?? [];
    const results = this.#passages()
      .filter(({ collection }) => body.collections?.includes(collection) ?? true)
      .filter(({ text }) => words.some((word) => text.toLowerCase().includes(word)))
      .map(({ before: _, after: __, ...passage }, index) => ({
        ...passage,
        score: 1 / (index + 1),
        found: { vector: index + 1, keywords: index + 2, reranked: 0.9 },
      }));
    return { queries: [body.query], results, notes: [] };
  }

  #passage(id: string): object | undefined {
    return this.#passages().find(({ passage }) => passage === id);
  }
}

/** The features of the server, with or without collections. */
export async function withDocuments(page: Page, base: string, documents: boolean): Promise<void> {
  const features = (await (await fetch(`${base}/api/extra/version`)).json()) as object;
  await page.route(/\/api\/extra\/version$/, (route) => route.fulfill({ json: { ...features, documents } }));
}

const told = ({ text, ...file }: ScriptedFile): object => ({
  ...file,
  bytes: text.length,
  created_at: 1_770_000_000,
  attributes: {},
  passages: file.status === 'completed' ? 12 : 0,
});
