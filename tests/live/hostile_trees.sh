#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# hostile_trees on each filesystem.
#   hostile_trees.sh [STEPS [SEED [NAME…]]]
set -e
here=$(dirname "$0")
steps=${1:-10000} seed=${2:-$RANDOM}
shift $(($# < 2 ? $# : 2))
root=/srv/hostile
mkdir -p $root
modprobe -a loop overlay fuse
# on NAME: a filesystem of that type
on() {
  mkdir -p $root/"$1"
  case $1 in
    ext4) ;;
    tmpfs) mount -t tmpfs hostile $root/tmpfs ;;
    fuse) # everything is handed on to another directory
      mkdir -p $root/behind-fuse $root/fuse/base # the mount's root is what the model takes for known
      bindfs $root/behind-fuse $root/fuse/base
      ;;
    *)
      modprobe "$1"
      truncate -s 400M $root/"$1".image
      mkfs."$1" -q $root/"$1".image >&2
      mount -o loop $root/"$1".image $root/"$1"
      ;;
  esac
}
for name in "${@:-ext4}"; do
  case $name in
    overlay) # both layers on one filesystem
      mkdir -p $root/overlay/{base,low,layer/up,layer/work}
      places+=("overlay:$root/overlay/base:$root/overlay/low:$root/overlay/layer")
      ;;
    overlay-of-two) # the upper layer on another: directories get other numbers
      mkdir -p $root/of-two/{base,low,layer}
      mount -t tmpfs hostile $root/of-two/layer
      mkdir $root/of-two/layer/{up,work}
      places+=("overlay-of-two@:$root/of-two/base:$root/of-two/low:$root/of-two/layer")
      ;;
    overlay-on-overlay)
      mkdir -p $root/on/{base,below,low,layer/up,layer/work,first/up,first/work}
      mount -t overlay -o lowerdir=$root/on/below,upperdir=$root/on/first/up,workdir=$root/on/first/work overlay $root/on/low
      places+=("overlay-on-overlay@:$root/on/base:$root/on/low:$root/on/layer")
      ;;
    *)
      on "$name"
      mkdir -p $root/"$name"/base
      places+=("$name:$root/$name/base")
      ;;
  esac
done
exec "$here"/../hostile_trees "$steps" "$seed" "${places[@]}"
