import type { PictureEdit } from '../../core/pictures.ts';

/** One edit; the bytes of its pictures are the attachments, in the order of their fields. */
export interface EditTask {
  readonly edit: PictureEdit;
  readonly fields: readonly string[];
}

/** The encoded picture is the attachment. */
export interface Edited {
  readonly type: 'edited';
}
