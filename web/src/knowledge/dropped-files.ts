/** More files of a folder are not taken: such a folder is better watched. */
const maxFiles = 2000;

/** Dropped files, with those in dropped folders. Must be called while the event is handled. */
export async function droppedFiles(files: readonly File[], transfer: DataTransfer | null): Promise<readonly File[]> {
  const entries = [...(transfer?.items ?? [])].flatMap((item) => item.webkitGetAsEntry?.() ?? []);
  if (!entries.some(({ isDirectory }) => isDirectory)) return files;
  const collected: File[] = [];
  for (const entry of entries) await collect(entry, collected);
  return collected;
}

async function collect(entry: FileSystemEntry, collected: File[]): Promise<void> {
  // Settings and caches of programs.
  if (collected.length >= maxFiles || entry.name.startsWith('.')) return;
  if (entry.isFile) {
    collected.push(await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)));
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // A part of the entries at a time.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const one of some) await collect(one, collected);
  }
}
