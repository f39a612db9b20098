import type { Attachment } from '../../conversations/conversation.ts';
import { collection } from '../../saved/database.ts';
import { notifyFailure } from '../../ui/notices.svelte.ts';

interface AttachmentDraft {
  /** The place of the draft, as for its text. */
  readonly id: string;
  readonly attachments: readonly Attachment[];
}

const stored = collection<AttachmentDraft>('drafts');

/** Files that are attached but not sent: they survive another chat and a reload. */
export function attachmentDraft(place: string) {
  return {
    read: async (): Promise<readonly Attachment[]> => {
      const found = await stored.get(place).catch(notifyFailure);
      return found?.attachments ?? [];
    },
    write: (attachments: readonly Attachment[]): void => {
      const written =
        attachments.length === 0 ? stored.remove(place) : stored.put({ id: place, attachments: [...attachments] });
      written.catch(notifyFailure);
    },
  };
}
