#!/bin/bash
# only our module with a fake core, for kernel $1 (headers folder $2)
set -e
out=OUT/mlx5-out/$1; rm -rf $out/include $out/drivers/core $out/rhca; mkdir -p $out/scripts $out/drivers/mlx5 $out/drivers/wire $out/include; cd TREE
cp -asf $PWD/drivers/mlx5 $PWD/drivers/wire $out/drivers/; ln -sf $PWD/scripts/probe.sh $out/scripts/probe.sh
cp -as OUT/mlx5-fake/core $out/drivers/; cp -as OUT/mlx5-fake/rhca $out/include/; ln -sf $PWD/include/rhca/compat.h $out/include/rhca/compat.h
ln -sf OUT/mlx5-fake/fake.c $out/drivers/mlx5/fake.c
find $out -xtype l -delete
sed 's/^obj-m += roce_hca.o//; s/^obj-\$(if \$(CONFIG_KUNIT).*//; s/^	backend.o/	fake.o backend.o/' Kbuild > $out/Kbuild
sed -i "s/^obj-.*mlx5.*/obj-m += roce_hca_mlx5.o/" $out/Kbuild
make -s $3 -C $2 M=$out W=1 KBUILD_MODPOST_WARN=1 -j3 modules
