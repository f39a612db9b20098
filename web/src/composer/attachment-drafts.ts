import type { Attachment, TakenCollection } from '../conversations/conversation.ts';
import { collection } from '../saved/database.ts';
import { notifyFailure } from '../ui/notices.svelte.ts';

interface AttachmentDraft {
  /** The place of the draft, as for its text. */
  readonly id: string;
  readonly attachments: readonly Attachment[];
  /** Collections for this message. */
  readonly taken?: readonly TakenCollection[];
  /** Collections for the chat that begins with it. */
  readonly always?: readonly TakenCollection[];
}

/** What goes with a message that is not sent. */
export type Enclosed = Omit<AttachmentDraft, 'id'>;

export const nothing: Enclosed = { attachments: [] };

const stored = collection<AttachmentDraft>('drafts');

/** Files and collections that are attached but not sent: they survive another chat and a reload. */
export function attachmentDraft(draftKey: string) {
  return {
    read: async (): Promise<Enclosed> => (await stored.get(draftKey).catch(notifyFailure)) ?? nothing,
    write: ({ attachments, taken = [], always = [] }: Enclosed): void => {
      const written =
        attachments.length + taken.length + always.length === 0
          ? stored.remove(draftKey)
          : stored.put({
              id: draftKey,
              attachments: [...attachments],
              ...(taken.length > 0 && { taken: [...taken] }),
              ...(always.length > 0 && { always: [...always] }),
            });
      written.catch(notifyFailure);
    },
  };
}
