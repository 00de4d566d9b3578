/** The form of a post, with a preview of its card and the cost of publishing. */

import { createPostCall, type Profile } from "imprint-press";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { estimateFee } from "../../chain/node.ts";
import { balance, coin, short } from "../../page/format.ts";
import { imprint } from "../../page/service.ts";
import type { Account } from "../../wallet/index.ts";
import { formatRoute } from "../routes.ts";
import { countUndescribed } from "../store/draft-text.ts";
import { WORDS } from "../words.ts";
import { Checklist } from "./checklist.tsx";
import { PriceField, TagsField, TextField } from "./fields.tsx";
import { type Form, keepForm, keepPictures, type Pictures } from "./kept-publication.ts";
import {
  cleanDescription,
  cleanTitle,
  measureDescription,
  measureTitle,
  parsePrice,
  priceProblem,
} from "./limits.ts";
import type { PostDetails } from "./progress.ts";
import { addTags } from "./tags.ts";
import { type Crop, fullCrop } from "./thumbnail/crop.ts";
import { ThumbnailField } from "./thumbnail/thumbnail-field.tsx";
import {
  decodePicture,
  drawCrop,
  drawTitle,
  renderCrop,
  renderTitle,
} from "./thumbnail/thumbnails.ts";

/** How many words a text has, and how many of them everybody may read. */
export interface Length {
  readonly words: number;
  readonly free: number;
}

interface Props {
  by: Account;
  draftKey: string;
  content: string;
  form: Form;
  length: Length;
  pictures: Pictures;
  onStart(details: PostDetails, pictures: Pictures): Promise<void>;
}

const { limits, chain } = imprint.facts;
const TAG_LIMITS = { count: Math.min(limits.hashtags, 10), length: limits.hashtag_length };
const PICTURE_LIMITS = {
  bytes: limits.thumbnail_bytes,
  pixels: limits.thumbnail_pixels,
  side: limits.thumbnail_side,
};

/** A cid of the usual length, for an estimate before the real one is known. */
const ANY_CID = `bafkrei${"a".repeat(52)}`;

const detailsOf = (form: Form): PostDetails => ({
  title: cleanTitle(form.title),
  description: cleanDescription(form.description),
  price: parsePrice(form.price).toString(),
  hashtags: addTags(form.tags, form.tagText ?? "", TAG_LIMITS).tags,
});

/** The first field that prevents publication, which shows the reason; null if there is none. */
function refusedField(form: Form): string | null {
  if (measureTitle(form.title).problem) return "publish-title";
  if (measureDescription(form.description).problem) return "publish-description";
  if (addTags(form.tags, form.tagText ?? "", TAG_LIMITS).problem) return "publish-tags";
  return priceProblem(form.price) ? "publish-price" : null;
}

/** The picture to upload. Waits for the author's own picture if it is not decoded yet. */
async function thumbnailOf(
  form: Form,
  picture: ImageBitmap | null,
  source: Blob | null,
): Promise<Blob> {
  if (form.picture !== "own" || source === null)
    return renderTitle(cleanTitle(form.title), PICTURE_LIMITS);
  const decoded = picture ?? (await decodePicture(source));
  return renderCrop(decoded, form.crop ?? fullCrop(decoded), PICTURE_LIMITS, source.type);
}

export function PublishForm(props: Props) {
  const { by, draftKey, content, form: given, length, pictures, onStart } = props;
  const [form, setForm] = useState(given);
  const [refused, setRefused] = useState<string | null>(null);
  const [source, setSource] = useState(pictures.source);
  const [picture, setPicture] = useState<ImageBitmap | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [isStarting, setStarting] = useState(false);
  const isStarted = useRef(false);
  const [isFormKept, setFormKept] = useState(true);
  const [isPictureKept, setPictureKept] = useState(true);
  const latest = useRef(given);
  // Stored before it is shown: what the author sees survives a reload.
  const change = (part: Partial<Form>) => {
    latest.current = { ...latest.current, ...part };
    setFormKept(keepForm(by.address, draftKey, latest.current));
    setProblem(null);
    setRefused(null);
    setForm(latest.current);
  };
  useEffect(() => {
    if (!pictures.source) return;
    // A picture that was chosen meanwhile is kept.
    const show = (decoded: ImageBitmap) => setPicture((present) => present ?? decoded);
    decodePicture(pictures.source).then(show, () => undefined);
  }, [pictures]);
  const take = async (chosen: Blob, decoded: ImageBitmap) => {
    // A running publication already has its pictures.
    if (isStarted.current) return;
    const isKept = await keepPictures(by.address, draftKey, { source: chosen, thumbnail: null })
      .then(() => true)
      .catch(() => false);
    if (isStarted.current) return;
    setPictureKept(isKept);
    setSource(chosen);
    setPicture(decoded);
    change({ picture: "own", crop: fullCrop(decoded) });
  };
  const undescribed = useMemo(() => countUndescribed(content), [content]);
  const publish = async (event: Event) => {
    event.preventDefault();
    const wrong = refusedField(form);
    setRefused(wrong);
    setProblem(null);
    if (wrong) return showField(wrong);
    setStarting(true);
    isStarted.current = true;
    try {
      const thumbnail = await thumbnailOf(form, picture, source);
      await onStart(detailsOf(form), { source, thumbnail });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : WORDS.pictureCouldntCreated);
      setStarting(false);
      isStarted.current = false;
    }
  };
  return (
    <form class="publish-form" onSubmit={publish} noValidate>
      <h1>{WORDS.publish}</h1>
      <div class="publish-fields">
        <TextField
          id="publish-title"
          label={WORDS.title}
          value={form.title}
          measure={measureTitle(form.title)}
          isRefused={refused === "publish-title"}
          onChange={(title) => change({ title })}
        />
        <TextField
          id="publish-description"
          label={WORDS.description}
          isLong
          value={form.description}
          measure={measureDescription(form.description)}
          isRefused={refused === "publish-description"}
          onChange={(description) => change({ description })}
        />
        <TagsField
          tags={form.tags}
          text={form.tagText ?? ""}
          limits={TAG_LIMITS}
          isRefused={refused === "publish-tags"}
          onChange={(tags, tagText) => change({ tags, tagText })}
        />
        <PriceField
          value={form.price}
          isRefused={refused === "publish-price"}
          onChange={(price) => change({ price })}
        />
        <FreePart price={form.price} length={length} />
        <ThumbnailField
          kind={form.picture}
          picture={picture}
          crop={form.crop}
          onKind={(kind) => change({ picture: kind })}
          onPicture={take}
          onCrop={(crop) => change({ crop })}
        />
      </div>
      <aside class="publish-side">
        <h2>{WORDS.howReadersWillSee}</h2>
        <CardPreview by={by} form={form} picture={picture} />
        <Cost by={by} form={form} />
        <Checklist
          undescribed={undescribed}
          description={form.description}
          picture={form.picture}
          textPath={formatRoute({ view: "draft", key: draftKey })}
          onDescription={() => showField("publish-description")}
        />
        <NotKept isFormKept={isFormKept} isPictureKept={isPictureKept || form.picture === "made"} />
        <div class="publish-submit">
          {problem && (
            <p class="publish-problem" role="alert">
              {problem}
            </p>
          )}
          <button type="submit" class="primary" disabled={isStarting}>
            {WORDS.publish}
          </button>
          <a href={formatRoute({ view: "draft", key: draftKey })}>{WORDS.backText}</a>
        </div>
      </aside>
    </form>
  );
}

/** Says how much of a paid text everybody may read. */
function FreePart({ price, length: { words, free } }: { price: string; length: Length }) {
  if (priceProblem(price) !== null || parsePrice(price) === 0n) return null;
  return (
    <p class="publish-hint" id="publish-free-part">
      {free > 0 ? WORDS.freeWords(free, words) : WORDS.nothingFree}
    </p>
  );
}

/** Put the cursor into a field, and scroll its message into view. */
function showField(id: string): void {
  const field = document.getElementById(id);
  field?.focus();
  field?.closest(".publish-field")?.scrollIntoView({ block: "center" });
}

/** Warns about what a reload would lose, because this browser does not store it. */
function NotKept({ isFormKept, isPictureKept }: { isFormKept: boolean; isPictureKept: boolean }) {
  if (isFormKept && isPictureKept) return null;
  const lost = [!isFormKept && WORDS.whatFill, !isPictureKept && WORDS.yourPicture];
  return (
    <p class="publish-problem" role="alert">
      {WORDS.browserCantStoreReload(lost.filter(Boolean).join(" and "))}
    </p>
  );
}

function CardPreview({
  by,
  form,
  picture,
}: {
  by: Account;
  form: Form;
  picture: ImageBitmap | null;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [profile, setProfile] = useState<Profile | null>(null);
  useEffect(() => {
    // Without a profile, or the service, the card shows the address.
    imprint.showAuthor(by.address).then(
      (author) => setProfile(author.profile),
      () => undefined,
    );
  }, [by.address]);
  const title = cleanTitle(form.title);
  const crop: Crop | null =
    form.picture === "own" && picture ? (form.crop ?? fullCrop(picture)) : null;
  useEffect(() => {
    if (!canvas.current) return;
    if (picture && crop) drawCrop(canvas.current, picture, crop);
    else void drawTitle(canvas.current, title);
  });
  const price = priceProblem(form.price) === null ? parsePrice(form.price) : null;
  return (
    <article class="card publish-card">
      <div class="card-picture" aria-hidden="true">
        <canvas ref={canvas} class="publish-canvas" width={600} height={400} />
      </div>
      <p class="byline">
        <span class="author">
          {profile?.avatarCid && (
            <img class="avatar" src={`/ipfs/${profile.avatarCid}?img-width=48`} alt="" />
          )}
          <bdi>{profile?.name ?? short(by.address)}</bdi>
        </span>
      </p>
      <p class="card-title">{title || WORDS.untitled}</p>
      <p class="card-text">{cleanDescription(form.description)}</p>
      <p class="card-foot">
        <span class={price === 0n ? "pill card-price free" : "pill card-price"}>
          {price === null ? "?" : price === 0n ? WORDS.free : coin(price)}
        </span>
      </p>
    </article>
  );
}

/** What happens next, and the node's current estimate of the network fee. */
function Cost({ by, form }: { by: Account; form: Form }) {
  const [fee, setFee] = useState<bigint | null>(null);
  const isFine = refusedField(form) === null;
  const details = isFine ? JSON.stringify(detailsOf(form)) : null;
  useEffect(() => {
    if (!details) return;
    let isShown = true;
    const { price, hashtags, ...texts } = JSON.parse(details) as PostDetails;
    const post = { ...texts, cid: ANY_CID, thumbnailCid: ANY_CID, hashtags: [...hashtags] };
    const call = createPostCall(chain.marketplace, { ...post, price: BigInt(price) });
    const timer = setTimeout(
      () =>
        estimateFee(by.provider, by.address, call).then(
          (wei) => isShown && setFee(wei),
          () => isShown && setFee(null),
        ),
      500,
    );
    return () => {
      isShown = false;
      clearTimeout(timer);
    };
  }, [by, details]);
  return (
    <div class="publish-next">
      <h2>{WORDS.whatHappensNext}</h2>
      <p>{WORDS.walletSignsOnceFree}</p>
      <p>
        {isFine && parsePrice(form.price) > 0n && WORDS.fullPriceYours}
        {fee === null ? WORDS.feeInWallet : WORDS.feeAbout(balance(fee))}
      </p>
    </div>
  );
}
