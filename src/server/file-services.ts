import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Batches } from '../batches/batches.ts';
import type { BatchWork } from '../batches/runner.ts';
import type { Settings } from '../config/flags.ts';
import type { BatchLibrary } from '../core/batches.ts';
import { ownFolder } from '../core/data-folder.ts';
import type { DocumentLibrary } from '../core/documents.ts';
import { OrderedIds } from '../core/ids.ts';
import { Libraries, type LibrariesOf, type Owner, type Sender, senderOf } from '../core/owner.ts';
import { fileNameOf } from '../core/person-data.ts';
import type { FileLibrary, UploadLibrary } from '../core/stored-files.ts';
import { systemTimer } from '../core/timers.ts';
import { removeLeftovers, uploadFolder } from '../http/form.ts';
import type { FileServices } from '../protocols/stored-files.ts';
import type { StoredFiles } from '../store/stored-files.ts';
import type { Uploads } from '../store/uploads.ts';
import { lazily } from './lazily.ts';

interface OpenFilesOptions {
  readonly folder: string;
  readonly limits: { readonly fileBytes: number; readonly allBytes: number };
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly warn: (sentence: string) => void;
  /** Removes a file that was deleted or has expired from the collections of its owner. */
  readonly forget?: (library: Owner, id: string) => Promise<void>;
}

/** In the folder of the files, for those that are being received. */
const incoming = 'incoming';

/** What clients store on the server. Nothing is loaded or read before the first use: most servers never store a file. */
export function openFiles({ folder, limits, now, warn, forget }: OpenFilesOptions) {
  const stores = new Map<Owner, ReturnType<typeof open>>();
  const open = async (owner: Owner): Promise<{ readonly files: StoredFiles; readonly uploads: Uploads }> => {
    const [{ StoredFiles }, { Uploads }] = await Promise.all([
      import('../store/stored-files.ts'),
      import('../store/uploads.ts'),
    ]);
    const own = join(folder, fileNameOf(owner));
    const files: StoredFiles = new StoredFiles({
      folder: own,
      owner,
      limits,
      now,
      warn,
      otherBytes: async () => (await uploads.bytes()) + (await (await batches()).bytes(owner)),
      ...(forget && { onDeleted: (id: string) => forget(owner, id) }),
    });
    const uploads: Uploads = new Uploads({
      folder: join(own, 'uploads'),
      files,
      now,
      fileBytes: limits.fileBytes,
    });
    return { files, uploads };
  };
  const storesOf = (owner: Owner): ReturnType<typeof open> => {
    const known = stores.get(owner) ?? open(owner);
    stores.set(owner, known);
    return known;
  };
  let opened: Promise<Batches> | undefined;
  let work: BatchWork | undefined;
  const batches = (): Promise<Batches> => (opened ??= openBatches());
  const openBatches = async (): Promise<Batches> => {
    const { Batches } = await import('../batches/batches.ts');
    const own = new Batches({ folder, files, now, warn, startTimer: systemTimer });
    if (work) own.start(work);
    return own;
  };
  const files = new Libraries((owner) => {
    const ids = new OrderedIds(now);
    return lazily<FileLibrary>(async () => (await storesOf(owner)).files, { newId: () => ids.next('file-') });
  });
  const libraries = new Libraries((owner) => lazily<BatchLibrary>(async () => (await batches()).of(owner)));
  return {
    files,
    batches: {
      of: (sender: Sender) => libraries.of(sender),
      start: (how: BatchWork): void => {
        work = how;
        void (opened ? opened.then((own) => own.start(how)) : resumed(folder, batches));
      },
      /** Cancels those of an owner, and resolves when none of them runs. */
      stop: async (owner: Owner): Promise<void> => (await opened)?.stop(owner),
    },
    uploads: new Libraries((owner) => lazily<UploadLibrary>(async () => (await storesOf(owner)).uploads)),
    /** Deletes expired files and the leftovers of killed servers, of all owners. */
    clean: async (): Promise<void> => {
      const names = await readdir(folder).catch(() => []);
      if (names.length === 0) return;
      const { ownerIn } = await import('../store/stored-files.ts');
      for (const name of names) {
        const owner = await ownerIn(join(folder, name));
        if (owner === undefined) continue;
        const { files, uploads } = await storesOf(owner);
        await files.clean();
        await uploads.clean();
      }
      await removeLeftovers(join(folder, incoming));
    },
  };
}

/** Continues the batches of earlier starts. Without any, nothing is loaded. */
async function resumed(folder: string, batches: () => Promise<unknown>): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const left = await readdir(join(folder, name, 'batches')).catch(() => []);
    if (left.length > 0) return void (await batches());
  }
}

/** Beside the files of a form. */
const fieldBytes = 2 ** 20;
const partBytes = 64 * 2 ** 20;

/** Files are received in the folder in which they are stored, so that they need not be copied. */
export function fileServices(
  folder: string,
  { filelimit }: Pick<Settings, 'filelimit'>,
  stored: Pick<FileServices, 'files' | 'uploads'>,
): FileServices {
  const receive = async (): Promise<string> => {
    const parent = join(folder, incoming);
    await mkdir(parent, { recursive: true, mode: 0o700 });
    return uploadFolder(parent);
  };
  const form = { files: 1, fields: 20, fieldBytes: 10_000, folder: receive };
  return {
    ...stored,
    fileForm: { ...form, bytes: filelimit * 2 ** 20 + fieldBytes },
    partForm: { ...form, bytes: partBytes + fieldBytes },
  };
}

const cleaningMs = 60 * 60 * 1000;
/** After the start of the server. */
const firstCleaningMs = 60 * 1000;

/** The files of clients in Parley's own folder. Those that are deleted or expire leave the collections, too. */
export function openOwnFiles(
  { filelimit, filespace }: Pick<Settings, 'filelimit' | 'filespace'>,
  users: () => { readonly documents?: LibrariesOf<DocumentLibrary> },
  warn: OpenFilesOptions['warn'],
) {
  const { clean, ...stored } = openFiles({
    folder: ownFolder('files'),
    limits: { fileBytes: filelimit * 2 ** 20, allBytes: filespace * 2 ** 20 },
    now: () => Date.now(),
    warn,
    forget: async (library, id) => users().documents?.of(senderOf(library)).forgetFile(id),
  });
  let reported = '';
  const tried = async (): Promise<void> => {
    const failure = await clean().then(
      () => '',
      (error: Error) => error.message,
    );
    // The same failure is reported once.
    if (failure !== '' && failure !== reported) warn(`Stored files that have expired cannot be deleted: ${failure}.`);
    reported = failure;
  };
  setTimeout(() => void tried(), firstCleaningMs).unref();
  setInterval(() => void tried(), cleaningMs).unref();
  return stored;
}
