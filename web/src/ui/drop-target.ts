import type { Attachment } from 'svelte/attachments';

/**
 * Lets an element accept dropped files. While files are dragged over it, it has the attribute `data-dropping`. A target inside
 * of another one comes first.
 */
export function dropTarget(
  accept: (files: readonly File[], transfer: DataTransfer | null) => void,
): Attachment<HTMLElement> {
  return (element) => {
    const listeners = {
      dragover: (event: DragEvent) => {
        // Dragged text is left to the fields inside.
        if (!event.dataTransfer?.types.includes('Files')) return;
        if (event.defaultPrevented) {
          delete element.dataset.dropping;
          return;
        }
        event.preventDefault();
        element.dataset.dropping = '';
      },
      dragleave: ({ relatedTarget }: DragEvent) => {
        if (!element.contains(relatedTarget as Node | null)) delete element.dataset.dropping;
      },
      drop: (event: DragEvent) => {
        delete element.dataset.dropping;
        const files = [...(event.dataTransfer?.files ?? [])];
        if (files.length === 0 || event.defaultPrevented) return;
        event.preventDefault();
        accept(files, event.dataTransfer);
      },
    };
    const entries = Object.entries(listeners) as [string, EventListener][];
    for (const [name, listener] of entries) element.addEventListener(name, listener);
    return () => {
      for (const [name, listener] of entries) element.removeEventListener(name, listener);
    };
  };
}
